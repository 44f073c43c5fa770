"""Merges near-duplicates inside one scope, under the guards of writing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final

from ..catalogue.catalogue import Catalogue, entry_key
from ..catalogue.rules.proposals import proposal_of
from ..index.rules.deduplication import MergeThresholds, Reinforce, Replace, decide
from ..models.data_models import StoredMemory
from ..models.passages import place_name
from ..models.scope import Scope
from ..remember.near_duplicates import NearDuplicates
from ..runtime.shielded import shielded
from ..text.normalising import content_hash
from .archive_step import ArchiveStep
from .decay_step import may_leave
from .report import SleepReport
from .sleep_store import SqliteSleepStore

MOST: Final = 300
"""Memories of a scope that one run compares; the others wait for the next night."""
_REST_SECONDS: Final = 0.02
"""Pause between two of them: an embedder may use the bot's own processor."""

type Near = Sequence[tuple[StoredMemory, float]]


class MergeStep:
    """Compares each text once per embedder: texts that were written while there was no index, by
    hand, or imported. Only passive memories are ever merged away."""

    def __init__(
        self,
        sleep_store: SqliteSleepStore,
        catalogue: Catalogue,
        near: NearDuplicates,
        archive: ArchiveStep,
    ) -> None:
        self._store = sleep_store
        self._catalogue = catalogue
        self._near = near
        self._archive = archive

    async def run(self, scope: Scope, room: int) -> SleepReport:
        """Merge ``room`` memories at most; the rest is compared again another night, and so is all
        of it after a kill.

        Raises StateUnavailable, VaultWriteFailed.
        """
        compared = dict(await asyncio.to_thread(self._store.compared, scope.name))
        living = self._catalogue.of_scope(scope)
        gone = compared.keys() - {stored.memory.memory_id for stored in living}
        todo = await asyncio.to_thread(self._unknown, living, compared)
        digests: dict[str, str] = {}
        merged, whole = 0, True
        for one in todo:
            if (stored := self._catalogue.get(entry_key(one))) is None:
                continue  # merged tonight
            thresholds = self._near.thresholds
            near = await self._near.neighbours(stored)
            if near is None or thresholds is None:
                whole = False
                break
            found = await asyncio.to_thread(weaker_of, stored, near, thresholds)
            has_merged = False
            if found and merged < room:
                has_merged = await shielded(self._archive.merge(*found[0]))
                merged += has_merged
            if len(found) == int(has_merged):
                digests[stored.memory.memory_id] = self._digest(stored)
            await asyncio.sleep(_REST_SECONDS)
        await asyncio.to_thread(self._store.note_compared, scope.name, digests, gone)
        return SleepReport(merged=merged, unmerged=int(not whole))

    def _unknown(
        self, living: Sequence[StoredMemory], compared: Mapping[str, str]
    ) -> list[StoredMemory]:
        new = (s for s in living if compared.get(s.memory.memory_id) != self._digest(s))
        return list(islice(new, MOST))

    def _digest(self, stored: StoredMemory) -> str:
        memory = stored.memory
        origin = memory.provenance
        # With another embedder all memories may be compared anew.
        space, who = self._near.indexing.label, origin.person or origin.who
        said = (memory.judgment, who, str(origin.trusted), space)
        return content_hash("\n".join(said))[:16]


def weaker_of(
    stored: StoredMemory, near: Near, thresholds: MergeThresholds
) -> list[tuple[StoredMemory, StoredMemory]]:
    """Returns pairs of a memory to merge away and the one that stays, the nearest first. Of each
    pair the newer one is judged as if it were written now, beside the older."""
    found = []
    for other, similarity in sorted(near, key=lambda pair: -pair[1]):
        # Whatever an index answers: what one person may read never becomes what all may.
        if other.scope != stored.scope or place_name(other) != place_name(stored):
            continue
        if proposal_of(other.memory) != proposal_of(stored.memory):
            continue  # the words of only one of them belong to a decision
        older, newer = sorted((stored, other), key=_age)
        match decide(newer.memory, [(older, similarity)], thresholds):
            case Reinforce() if may_leave(newer):
                found.append((newer, older))
            case Reinforce() if may_leave(older) and _covers(newer, older, similarity, thresholds):
                found.append((older, newer))
            case Replace() if may_leave(older):
                found.append((older, newer))
    return found


def _age(stored: StoredMemory) -> tuple[float, str]:
    return stored.memory.created_at.timestamp(), stored.memory.memory_id


def _covers(
    stored: StoredMemory, other: StoredMemory, similarity: float, thresholds: MergeThresholds
) -> bool:
    """Returns True if the other one, written now, would only make this one stronger."""
    return isinstance(decide(other.memory, [(stored, similarity)], thresholds), Reinforce)
