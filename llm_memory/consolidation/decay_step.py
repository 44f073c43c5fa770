"""Passive memories fade by how they served, and the weakest leave for the archive."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import batched
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.proposals import is_decided
from ..catalogue.rules.timeline import is_digest
from ..models.data_models import MAX_STRENGTH, StoredMemory, Topic
from ..models.scope import Scope
from ..models.vault_layout import topic_of
from ..runtime.shielded import shielded
from ..storage.loop_facts import Evidence, SqliteLoopFacts
from ..vault.markdown_vault import MarkdownVault
from .archive_step import ArchiveStep
from .report import SleepReport
from .rules.decay import Weighed, most_leaving, weigh

AT_ONCE: Final = 10
"""The most memories whose strength a crash may leave as it was."""


def may_leave(stored: StoredMemory) -> bool:
    """Returns False for what is kept on purpose: active memories, decided proposals, day journals,
    and tasks, which are done or open instead of strong or weak."""
    memory = stored.memory
    kept = memory.active or topic_of(stored.path) is Topic.TASKS or is_digest(memory)
    return not (kept or is_decided(memory))


class DecayStep:
    """Deletes the counts before it changes a strength: a crash weighs nothing twice, and leaves the
    strength of ten memories at most as it was."""

    def __init__(
        self,
        loop_book: SqliteLoopFacts,
        vault: MarkdownVault,
        catalogue: Catalogue,
        living: RecallableMemories,
        archive: ArchiveStep,
    ) -> None:
        self._book = loop_book
        self._vault = vault
        self._catalogue = catalogue
        self._living = living
        self._archive = archive

    def room(self, scope: Scope) -> int:
        """Returns how many entries of a scope may leave in one run."""
        return most_leaving(self._catalogue.counts().get(scope.name, 0))

    async def run(self, scope: Scope, room: int) -> SleepReport:
        """Weigh the memories that were counted. The weakest leave, ``room`` at most; the counts of
        the others that should leave stay, so that the next night weighs them again.

        Raises StateUnavailable, VaultWriteFailed.
        """
        evidence = await asyncio.to_thread(self._book.evidence, scope.name)
        found = {one.key: self._weigh(one) for one in evidence}
        staying = [one for one in evidence if not found[one.key].weak]
        leaving = [one for one in evidence if found[one.key].weak]
        leaving.sort(key=lambda one: found[one.key].strength)
        changes: list[int] = []
        archived = 0
        for some in batched(staying, AT_ONCE):
            changes += await shielded(self._change(some))
            await asyncio.sleep(0)
        for some in batched(leaving[:room], AT_ONCE):
            archived += await shielded(self._leave(some))
            await asyncio.sleep(0)
        return SleepReport(
            faded=sum(change < 0 for change in changes),
            raised=sum(change > 0 for change in changes),
            archived=archived,
            waiting=len(leaving[room:]),
        )

    def _passive(self, one: Evidence) -> StoredMemory | None:
        stored = self._catalogue.get(one.key)
        return stored if stored and may_leave(stored) else None

    def _weigh(self, one: Evidence) -> Weighed:
        stored = self._passive(one)
        strength = stored.memory.strength if stored else MAX_STRENGTH
        return weigh(strength, useful=one.useful, useless=one.useless)

    async def _change(self, some: Sequence[Evidence]) -> list[int]:
        """Returns by how much each strength was changed."""
        await asyncio.to_thread(self._book.take_off, some)
        return [await self._write(one) for one in some]

    async def _write(self, one: Evidence) -> int:
        async with self._living.writing:  # one at a time: other writes come between
            stored, strength = self._passive(one), self._weigh(one).strength
            if stored is None or stored.memory.strength == strength:
                return 0
            changed = replace(stored.memory, strength=strength)
            try:
                self._living.take(await asyncio.to_thread(self._vault.replace, stored, changed))
            except KeyError:  # a person has changed it; the next comparison of files finds that
                return 0
            return strength - stored.memory.strength

    async def _leave(self, some: Sequence[Evidence]) -> int:
        gone = await self._archive.fade(list(filter(None, map(self._passive, some))))
        # Last: a crash during a move may have left an entry in both places.
        await asyncio.to_thread(self._book.take_off, some)
        return gone
