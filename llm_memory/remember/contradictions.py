"""Writes statements that take the place of what they contradict."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..catalogue.rules.closing import closed_by
from ..catalogue.rules.event_day import is_another_event
from ..index.rules.deduplication import same_speaker
from ..models.corrections import CorrectionKind
from ..models.data_models import (
    Memory,
    MemoryDraft,
    RememberOutcome,
    Replaced,
    Stored,
    StoredMemory,
)
from ..models.scope import Scope
from .corrected_statements import CorrectedStatements
from .memory_handlers import MemoryHandlers
from .near_duplicates import NEAREST, NearDuplicates
from .rules.contradiction import Conflict, Said, conflict, denies, negation, spoken_correction


class ContradictingWrites:
    """Looks at what is stored already after a new statement that may contradict it. A crash in
    between leaves both.

    Where a reflection reads the turn, too, that is a statement that denies something or calls
    itself a correction; where none does (``MemoryDraft.corrects``), every statement.
    """

    def __init__(
        self, handlers: MemoryHandlers, near: NearDuplicates, corrected: CorrectedStatements
    ) -> None:
        self._handlers = handlers
        self._near = near
        self._corrected = corrected

    async def write(
        self,
        draft: MemoryDraft,
        scope: Scope,
        *,
        conversation: str,
        trusted: bool,
        role: str,
        memory_id: str = "",
    ) -> RememberOutcome:
        """As ``MemoryHandlers.write``. Returns Replaced where the draft contradicts what the same
        speaker said for certain, ``Stored.conflict`` where it may contradict anything else."""
        outcome = await self._handlers.write(
            draft,
            scope,
            conversation=conversation,
            trusted=trusted,
            role=role,
            memory_id=memory_id,
        )
        if not isinstance(outcome, Stored):
            return outcome
        if not draft.corrects and not await asyncio.to_thread(_takes_back, outcome.memory):
            return outcome
        near = (await self._near.sharing_words(outcome.memory))[:NEAREST]
        compared = conflict if draft.corrects else negation
        sure, found = await asyncio.to_thread(_most_certain, outcome.memory, near, compared)
        if found is None:
            return outcome
        if sure and await self._handlers.supersede(found, outcome.memory):
            # Earlier turns that are still unread may say the old words again.
            at = outcome.memory.memory.created_at
            kind = CorrectionKind.TAKEN_BACK
            await self._corrected.note(kind, scope.name, found.memory, at=at)
            return Replaced(outcome.memory, found, outcome.redacted)
        return replace(outcome, conflict=found)


def _takes_back(stored: StoredMemory) -> bool:
    memory = stored.memory
    spoken = spoken_correction(memory.judgment) is not None
    return spoken or denies(Said(memory.judgment, memory.created_at))


def _most_certain(
    stored: StoredMemory,
    near: Sequence[StoredMemory],
    compared: Callable[[Said, Said], Conflict],
) -> tuple[bool, StoredMemory | None]:
    """Returns the neighbour that the memory contradicts, and whether it may take its place: what a
    person vouches for, or another speaker said, stays."""
    new = stored.memory
    spoken = spoken_correction(new.judgment)
    found: dict[Conflict, list[StoredMemory]] = {}
    for other in near:
        old = other.memory
        if closed_by(old) or old.created_at > new.created_at:
            continue
        if spoken is None and is_another_event(new, old):
            continue
        before = Said(old.judgment, old.created_at)
        if spoken is None:
            sure = compared(Said(new.judgment, new.created_at), before)
        else:
            sure = conflict(Said(spoken, new.created_at), before)
        if sure is Conflict.CERTAIN and not _may_replace(new, old):
            sure = Conflict.LIKELY
        found.setdefault(sure, []).append(other)
    if certain := found.get(Conflict.CERTAIN):
        return True, certain[0]
    likely = found.get(Conflict.LIKELY, [])
    # Who corrects himself means the one thing that can be meant.
    sole = spoken is not None and len(likely) == 1 and _may_replace(new, likely[0].memory)
    return sole, next(iter(likely), None)


def _may_replace(new: Memory, old: Memory) -> bool:
    vouched = old.provenance.vouched and not new.provenance.vouched
    return same_speaker(new, old) and not vouched and not new.model_worded
