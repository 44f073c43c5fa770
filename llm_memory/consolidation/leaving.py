"""What leaves for the archive at night: what was recalled in vain, and what another memory says.

Passive memories fade by how they served:

| strength  | more often useless than useful: for each time more |
| --------- | --------------------------------------------------- |
| 80 to 100 | it stays                                             |
| 40 to 79  | 3 less                                               |
| 1 to 39   | 6 less                                               |

More often useful than useless: 2 more for each time, up to 100. As often the one as the other, or
never recalled: it stays as it is, for nobody is punished for not having been asked. At most five
times count at once, so one bad day fades nothing away. Below 10, having faded, a memory may leave.
What was stored as weak as that, and was never found useless, stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import batched, islice
from typing import Final

from ..catalogue.catalogue import Catalogue, entry_key
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.proposals import is_decided, proposal_of
from ..catalogue.rules.timeline import is_digest
from ..errors import VaultWriteFailed
from ..index.rules.deduplication import MergeThresholds, Reinforce, decide
from ..models.conversation import Actor
from ..models.data_models import (
    MAX_STRENGTH,
    MIN_STRENGTH,
    Memory,
    Refused,
    StoredMemory,
    Topic,
    is_absent,
)
from ..models.passages import Key, place_name
from ..models.scope import Scope
from ..models.vault_layout import topic_of
from ..remember.edit import REPLACED, MemoryEditor
from ..remember.near_duplicates import NearDuplicates
from ..remember.rules.gate import MAX_TAGS
from ..runtime.cooperative import cooperative
from ..runtime.identifiers import Clock
from ..runtime.shielded import shielded
from ..storage.loop_facts import Evidence, SqliteLoopFacts
from ..vault.markdown_vault import MarkdownVault
from .report import SleepReport

_TOP, _LOW, _WEAK = 80, 40, 10
_MOST_TIMES: Final = 5
AT_ONCE: Final = 10
"""The most memories whose strength a kill may leave as it was."""
MOST_COMPARED: Final = 300
"""Memories of a scope that one run compares; the others wait for the next night."""
_REST_SECONDS: Final = 0.02
"""Pause between two of them: an embedder may use the bot's own processor."""
FADED: Final = ("夜间整理：想起了总没用", "Nightly tidy-up: recalled, never of use")
"""Who has forgotten it, as the archive says, in Chinese and in English."""


def may_leave(stored: StoredMemory) -> bool:
    """Returns False for what is kept on purpose: active memories, decided proposals, journals of
    earlier versions, and tasks, which are done or open instead of strong or weak."""
    memory = stored.memory
    kept = memory.active or topic_of(stored.path) is Topic.TASKS or is_digest(memory)
    return not (kept or is_decided(memory))


def weigh(strength: int, times: int) -> int:
    """Returns the strength after a memory was so many times more often useful than useless."""
    times = max(min(times, _MOST_TIMES), -_MOST_TIMES)
    if times >= 0:
        return min(strength + 2 * times, MAX_STRENGTH)
    for _ in range(-times if strength < _TOP else 0):
        strength -= 6 if strength < _LOW else 3
    return max(strength, MIN_STRENGTH)


async def rewritten(
    editor: MemoryEditor, stored: StoredMemory, made: Callable[[Memory], Memory]
) -> StoredMemory | None:
    """Apply ``made`` to an entry that says what it said. Returns the entry as it stands, None if a
    person has deleted or reworded it meanwhile. Raises VaultWriteFailed."""
    words = stored.memory.judgment
    now = await editor.annotate(stored, lambda one: made(one) if one.judgment == words else one)
    if isinstance(now, Refused) and not is_absent(now):
        raise VaultWriteFailed(now.detail)
    return now if isinstance(now, StoredMemory) and now.memory.judgment == words else None


@dataclass(eq=False)
class Leaving:
    """Only passive memories leave, at most a quarter of a scope in a run."""

    _loop_book: SqliteLoopFacts
    _vault: MarkdownVault
    _catalogue: Catalogue
    _living: RecallableMemories
    _editor: MemoryEditor
    _near: NearDuplicates
    _clock: Clock
    _english: bool
    _compared: set[Hashable] = field(default_factory=set, init=False)

    def room(self, scope: Scope) -> int:
        """Returns how many entries of a scope may leave in one run."""
        return self._catalogue.counts().get(scope.name, 0) // 4

    async def fade(self, scope: Scope, room: int) -> SleepReport:
        """Weigh the memories that were counted. The weakest leave, ``room`` at most; the counts of
        the others that should leave stay, so that the next night weighs them again.

        A kill weighs nothing twice: counts go before a strength is changed. Those of what leaves go
        last: a kill during the move may have left an entry in both places.

        Raises StateUnavailable, VaultWriteFailed.
        """
        counted = await asyncio.to_thread(self._loop_book.evidence, scope.name)
        weak = sorted(filter(self._is_weak, counted), key=self._after)
        staying = [one for one in counted if not self._is_weak(one)]
        fading = (self._weigh(some) for some in batched(staying, AT_ONCE))
        leaving = (self._leave(some) for some in batched(weak[:room], AT_ONCE))
        faded = sum([await shielded(step) for step in fading])
        return SleepReport(faded=faded, archived=sum([await shielded(step) for step in leaving]))

    async def merge(self, scope: Scope, room: int) -> SleepReport:
        """Compare texts that were written while there was no index, by hand, or imported: each once
        while the bot runs, what came last first. ``room`` memories leave at most; the rest is
        compared again another night.

        Raises VaultWriteFailed.
        """
        merged = 0
        for key in await asyncio.to_thread(self._new, self._catalogue.of_scope(scope)):
            if (stored := self._catalogue.get(key)) is None:
                continue  # merged tonight
            near, thresholds = await self._near.neighbours(stored), self._near.thresholds
            if near is None or thresholds is None:
                return SleepReport(merged=merged, unmerged=1)
            found = await asyncio.to_thread(weaker_of, stored, near, thresholds)
            if found and merged < room and await shielded(self._merge(*found[0])):
                merged, found = merged + 1, found[1:]
            if not found:
                self._compared.add(self._mark(stored))
            await asyncio.sleep(_REST_SECONDS)
        return SleepReport(merged=merged)

    def _passive(self, one: Evidence) -> StoredMemory | None:
        stored = self._catalogue.get(one.key)
        return stored if stored and may_leave(stored) else None

    def _after(self, one: Evidence) -> int:
        stored = self._passive(one)
        return weigh(stored.memory.strength, one.useful - one.useless) if stored else MAX_STRENGTH

    def _is_weak(self, one: Evidence) -> bool:
        return one.useless > one.useful and self._after(one) < _WEAK

    async def _weigh(self, some: Sequence[Evidence]) -> int:
        """Returns how many are weaker now."""
        await asyncio.to_thread(self._loop_book.take_off, some)
        return sum([await self._write(one) for one in some])

    async def _write(self, one: Evidence) -> bool:
        def made(memory: Memory) -> Memory:
            after = weigh(memory.strength, one.useful - one.useless)
            return memory if memory.active else replace(memory, strength=after)

        stored = self._passive(one)
        written = await rewritten(self._editor, stored, made) if stored else None
        return bool(written and stored and written.memory.strength < stored.memory.strength)

    async def _leave(self, some: Sequence[Evidence]) -> int:
        gone = await self._archive(list(filter(None, map(self._passive, some))), FADED)
        await asyncio.to_thread(self._loop_book.take_off, some)
        return gone

    async def _merge(self, loser: StoredMemory, into: StoredMemory) -> bool:
        """Archive a memory that ``into`` says as well, which takes over its strength, tags and,
        where it has none, questions. Returns False if both stay: one was changed meanwhile."""

        def made(memory: Memory) -> Memory:
            tags = tuple(dict.fromkeys((*memory.tags, *loser.memory.tags)))[:MAX_TAGS]
            strength = max(memory.strength, loser.memory.strength)
            asks = memory.asks or loser.memory.asks
            took = replace(memory, strength=strength, tags=tags, asks=asks)
            return memory if memory.active else took

        if any(self._catalogue.get(entry_key(one)) != one for one in (loser, into)):
            return False
        kept = await rewritten(self._editor, into, made)
        return kept is not None and await self._archive([loser], REPLACED, into) > 0

    async def _archive(
        self, found: Sequence[StoredMemory], why: tuple[str, str], *into: StoredMemory
    ) -> int:
        """Archive what stands as it is known, and return how many did. Raises VaultWriteFailed."""
        name = why[self._english].format(*(one.memory.memory_id for one in into))
        by, at = Actor("", name), self._clock().replace(microsecond=0)
        async with self._living.writing:
            gone = await asyncio.to_thread(self._vault.archive_many, found, by=by, at=at)
            for one in gone:
                self._living.drop(one)
        return len(gone)

    def _new(self, living: Sequence[StoredMemory]) -> list[Key]:
        last_first = cooperative(reversed(living))
        new = (entry_key(one) for one in last_first if self._mark(one) not in self._compared)
        return list(islice(new, MOST_COMPARED))

    def _mark(self, stored: StoredMemory) -> Hashable:
        """With another embedder all memories may be compared anew."""
        memory, origin = stored.memory, stored.memory.provenance
        said = memory.judgment, origin.person or origin.who, origin.trusted
        return entry_key(stored), hash(said), self._near.indexing.label


def weaker_of(
    stored: StoredMemory,
    near: Sequence[tuple[StoredMemory, float]],
    thresholds: MergeThresholds,
) -> list[tuple[StoredMemory, StoredMemory]]:
    """Returns what may leave with what says it as well, the nearest first. Of each two the newer
    one leaves if the older one says it all, else the older one if the newer one does."""
    alike = MergeThresholds(thresholds.replace, thresholds.replace)
    found = list[tuple[StoredMemory, StoredMemory]]()
    for other, similarity in sorted(near, key=lambda pair: -pair[1]):
        # Whatever an index answers: what one person may read never becomes what all may.
        if other.scope != stored.scope or place_name(other) != place_name(stored):
            continue
        if proposal_of(other.memory) != proposal_of(stored.memory):
            continue  # the words of only one of them belong to a decision
        older, newer = sorted((stored, other), key=_age)
        for loser, into, limits in ((newer, older, thresholds), (older, newer, alike)):
            said = decide(loser.memory, [(into, similarity)], limits)
            if may_leave(loser) and isinstance(said, Reinforce):
                found.append((loser, into))
                break
    return found


def _age(stored: StoredMemory) -> tuple[float, str]:
    return stored.memory.created_at.timestamp(), stored.memory.memory_id
