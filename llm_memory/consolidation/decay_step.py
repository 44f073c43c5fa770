"""Passive memories fade by how they served, and the weakest leave for the archive."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import batched
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.day_journal import is_journal
from ..catalogue.rules.proposals import is_decided
from ..models.data_models import StoredMemory, Topic
from ..models.scope import Scope
from ..models.vault_layout import topic_of
from ..runtime.shielded import shielded
from ..storage.loop_facts import Evidence, SqliteLoopFacts
from ..vault.markdown_vault import MarkdownVault
from .archive_step import ArchiveStep
from .rules.decay import most_leaving, weigh

AT_ONCE: Final = 10
"""A crash may leave so many as they are that had to be stronger or weaker."""


@dataclass(frozen=True, slots=True)
class DecayReport:
    """How many are weaker and stronger now, have left, and wait for another night to leave."""

    weaker: int = 0
    stronger: int = 0
    archived: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class _Weighed:
    """How a memory served, and the strength that it is to have for that."""

    evidence: Evidence
    strength: int = 0
    leaves: bool = False


def may_leave(stored: StoredMemory) -> bool:
    """False for what is kept on purpose: active memories, tasks, which are done or open and not
    strong or weak, decided proposals, and the journals of days."""
    memory = stored.memory
    kept = memory.active or topic_of(stored.path) is Topic.TASKS or is_journal(stored)
    return not (kept or is_decided(memory))


class DecayStep:
    """What was counted is deleted before a strength is changed: a crash weighs nothing twice, and
    leaves the strength of ten memories at most as it was."""

    def __init__(
        self,
        book: SqliteLoopFacts,
        vault: MarkdownVault,
        catalogue: Catalogue,
        living: RecallableMemories,
        archive: ArchiveStep,
    ) -> None:
        self._book = book
        self._vault = vault
        self._catalogue = catalogue
        self._living = living
        self._archive = archive

    def room(self, scope: Scope) -> int:
        """Returns how many entries of a scope may leave in one run."""
        return most_leaving(self._catalogue.counts().get(scope.name, 0))

    async def run(self, scope: Scope, room: int) -> DecayReport:
        """Weigh what was counted. The weakest leave, ``room`` at most; what was counted of the
        others that should leave is kept, so that the next night weighs them again.

        Raises StateUnavailable, VaultWriteFailed.
        """
        evidence = await asyncio.to_thread(self._book.evidence, scope.name)
        weighed = [self._weigh(one) for one in evidence]
        leaving = sorted((one for one in weighed if one.leaves), key=lambda one: one.strength)
        staying = [one for one in weighed if not one.leaves]
        changes: list[int] = []
        archived = 0
        for some in batched(staying, AT_ONCE):
            changes += await shielded(self._change(some))
            await asyncio.sleep(0)
        for some in batched(leaving[:room], AT_ONCE):
            archived += await shielded(self._leave(some))
            await asyncio.sleep(0)
        weaker = sum(change < 0 for change in changes)
        stronger = sum(change > 0 for change in changes)
        return DecayReport(weaker, stronger, archived, len(leaving[room:]))

    def _weigh(self, one: Evidence) -> _Weighed:
        stored = self._catalogue.get(one.key)
        if stored is None or not may_leave(stored):
            return _Weighed(one)
        found = weigh(stored.memory.strength, useful=one.useful, useless=one.useless)
        return _Weighed(one, found.strength, found.weak)

    async def _change(self, some: Sequence[_Weighed]) -> list[int]:
        """Returns by how much each strength was changed."""
        await asyncio.to_thread(self._book.take_off, [one.evidence for one in some])
        return [await self._write(one) for one in some]

    async def _write(self, one: _Weighed) -> int:
        async with self._living.writing:  # one at a time: other writes come between
            stored = self._catalogue.get(one.evidence.key)
            if stored is None or not may_leave(stored) or stored.memory.strength == one.strength:
                return 0
            changed = replace(stored.memory, strength=one.strength)
            try:
                self._living.take(await asyncio.to_thread(self._vault.replace, stored, changed))
            except KeyError:  # a person has changed it, and the next look at the files tells
                return 0
            return one.strength - stored.memory.strength

    async def _leave(self, some: Sequence[_Weighed]) -> int:
        found = (self._catalogue.get(one.evidence.key) for one in some)
        gone = await self._archive.fade([one for one in found if one and may_leave(one)])
        # Last: a crash while one was moved may have left it in both places.
        await asyncio.to_thread(self._book.take_off, [one.evidence for one in some])
        return gone
