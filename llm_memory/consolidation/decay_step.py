"""Passive memories fade by how they served: weighed once, carried out entry by entry."""

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
from ..models.key import Key
from ..models.scope import Scope
from ..models.vault_layout import topic_of
from ..runtime.shielded import shielded
from ..storage.loop_facts import Evidence, SqliteLoopFacts
from ..vault.markdown_vault import MarkdownVault
from .archive_step import ArchiveStep
from .models import ArchiveDecision, ArchiveReason, StrengthChange
from .rules.decay import WEAK, weigh
from .sleep_store import SqliteSleepStore

_AT_ONCE: Final = 10


@dataclass(frozen=True, slots=True)
class DecayReport:
    """How many are weaker and stronger now, and how many weak ones wait for another night."""

    weaker: int = 0
    stronger: int = 0
    waiting: int = 0


def may_leave(stored: StoredMemory) -> bool:
    """False for what is kept on purpose: active memories, tasks, which are done or open and not
    strong or weak, decided proposals, and the journals of days."""
    memory = stored.memory
    kept = memory.active or topic_of(stored.path) is Topic.TASKS or is_journal(stored)
    return not (kept or is_decided(memory))


class DecayStep:
    """The strength that each memory is to have is decided in the transaction that takes the
    evidence off: whatever happens then, nothing is weighed twice."""

    def __init__(
        self,
        store: SqliteSleepStore,
        book: SqliteLoopFacts,
        vault: MarkdownVault,
        catalogue: Catalogue,
        living: RecallableMemories,
        departures: ArchiveStep,
    ) -> None:
        self._store = store
        self._book = book
        self._vault = vault
        self._catalogue = catalogue
        self._living = living
        self._archive_step = departures

    async def run(self, run_id: str, scope: Scope) -> DecayReport:
        """Weigh what was counted, write the strengths, choose who leaves, and let them go.

        Raises StateUnavailable, VaultWriteFailed.
        """
        evidence = await asyncio.to_thread(self._book.evidence, scope.name)
        await asyncio.to_thread(self._store.plan, self._weighed(scope, evidence), evidence)
        plans = await asyncio.to_thread(self._store.plans, scope.name)
        weaker = stronger = 0
        for some in batched(plans, _AT_ONCE):
            changes = await shielded(self._apply_all(some))
            weaker += sum(change < 0 for change in changes)
            stronger += sum(change > 0 for change in changes)
            settled = [fade.memory_id for fade in some if not self._is_weak(fade)]
            await asyncio.to_thread(self._store.drop_plans, scope.name, settled)
            await asyncio.sleep(0)
        waiting = await self._archive_weak(
            run_id, scope, [fade for fade in plans if self._is_weak(fade)]
        )
        return DecayReport(weaker, stronger, waiting)

    async def _apply_all(self, fades: Sequence[StrengthChange]) -> list[int]:
        return [await self._apply(fade) for fade in fades]

    def _weighed(self, scope: Scope, evidence: Sequence[Evidence]) -> list[StrengthChange]:
        fades = []
        for one in evidence:
            stored = self._catalogue.get(one.key)
            if stored is None or not may_leave(stored):
                continue
            strength = stored.memory.strength
            found = weigh(strength, useful=one.useful, useless=one.useless)
            if found.weak or found.strength != strength:
                name = one.key.memory_id
                fades.append(StrengthChange(scope.name, name, strength, found.strength, found.weak))
        return fades

    async def _apply(self, fade: StrengthChange) -> int:
        """By how much the strength was changed: by nothing where it is right already, or somebody
        else has changed it since it was weighed."""
        async with self._living.writing:  # one at a time: other writes come between
            return await self._write(fade)

    async def _write(self, fade: StrengthChange) -> int:
        stored = self._catalogue.get(Key(fade.scope, fade.memory_id))
        if stored is None or not may_leave(stored) or stored.memory.strength != fade.base:
            return 0
        if fade.strength == fade.base:
            return 0
        changed = replace(stored.memory, strength=fade.strength)
        try:
            self._living.take(await asyncio.to_thread(self._vault.replace, stored, changed))
        except KeyError:  # a person has changed it, and the next look at the files tells
            return 0
        return fade.strength - fade.base

    def _is_weak(self, fade: StrengthChange) -> bool:
        """Still to leave: it was not strengthened, or kept on purpose."""
        stored = self._catalogue.get(Key(fade.scope, fade.memory_id))
        return (
            fade.weak and stored is not None and may_leave(stored) and stored.memory.strength < WEAK
        )

    async def _archive_weak(self, run_id: str, scope: Scope, weak: Sequence[StrengthChange]) -> int:
        """The weakest first, as many as may; how many stay for another night."""
        room = await self._archive_step.room(run_id, scope)
        chosen = sorted(weak, key=lambda fade: (fade.strength, fade.memory_id))[:room]
        await self._archive_step.choose(
            run_id,
            [ArchiveDecision(scope.name, fade.memory_id, ArchiveReason.FADED) for fade in chosen],
        )
        await self._archive_step.carry_out(run_id, scope)
        gone = [fade.memory_id for fade in weak if not self._is_weak(fade)]
        await asyncio.to_thread(self._store.drop_plans, scope.name, gone)
        return len(weak) - len(gone)
