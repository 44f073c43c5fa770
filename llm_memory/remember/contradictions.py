"""Writes statements that take the place of what they contradict, where no reflection reads them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from ..catalogue.rules.closing import closed_by
from ..index.rules.deduplication import same_speaker
from ..models.data_models import MemoryDraft, RememberOutcome, Replaced, Stored, StoredMemory
from ..models.scope import Scope
from .memory_handlers import MemoryHandlers
from .near_duplicates import NEAREST, NearDuplicates
from .rules.contradiction import Conflict, Said, conflict


class ContradictingWrites:
    """Looks at what is stored already after each new statement. A crash in between leaves both."""

    def __init__(self, handlers: MemoryHandlers, near: NearDuplicates) -> None:
        self._handlers = handlers
        self._near = near

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
        near = (await self._near.sharing_words(outcome.memory))[:NEAREST]
        sure, found = await asyncio.to_thread(_most_certain, outcome.memory, near)
        if found is None:
            return outcome
        if sure and await self._handlers.supersede(found, outcome.memory):
            return Replaced(outcome.memory, found, outcome.redacted)
        return replace(outcome, conflict=found)


def _most_certain(
    stored: StoredMemory, near: list[StoredMemory]
) -> tuple[bool, StoredMemory | None]:
    """Returns the neighbour that the memory contradicts, and whether it may take its place: what a
    person vouches for, or another speaker said, stays."""
    new, found, surest = stored.memory, None, Conflict.NONE
    for other in near:
        old = other.memory
        if closed_by(old) or old.created_at > new.created_at:
            continue
        sure = conflict(Said(new.judgment, new.created_at), Said(old.judgment, old.created_at))
        vouched = old.provenance.vouched and not new.provenance.vouched
        if sure is Conflict.CERTAIN and (vouched or not same_speaker(new, old)):
            sure = Conflict.LIKELY
        if sure > surest:
            found, surest = other, sure
    return surest is Conflict.CERTAIN, found
