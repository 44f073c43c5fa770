"""Updates settled entries when the statement that settled them is removed or replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.closing import closed, closed_by
from ..catalogue.rules.closing import reopened as still_open
from ..catalogue.rules.tasks import is_task, reopened
from ..errors import VaultWriteFailed
from ..log import logger
from ..models.data_models import Memory, StoredMemory
from ..models.passages import Key, place_name
from ..vault.markdown_vault import MarkdownVault
from .corrected_statements import CorrectedStatements


@dataclass(eq=False)
class Closings:
    """An entry stays settled if the settling statement decays; it is reopened if a person deletes
    that statement; and if another replaces it, the replacement settles the entry."""

    _vault: MarkdownVault
    _catalogue: Catalogue
    _recallable: RecallableMemories
    _corrected: CorrectedStatements

    async def repoint(self, former: StoredMemory, successor: StoredMemory) -> None:
        """Re-point entries that ``former`` settled to ``successor``, before ``former`` is archived.
        The caller holds the lock."""
        if place_name(former) != place_name(successor):
            return
        heir = successor.memory.memory_id
        for stored in self._catalogue.of_scope(former.scope):
            if closed_by(stored.memory) != former.memory.memory_id:
                continue
            if stored.memory.memory_id == heir:
                await self._write(stored, _opened(stored))
            else:
                await self._write(stored, lambda memory: closed(memory, heir))

    async def open_again(self) -> None:
        """Reopen entries whose settling statement a person has forgotten or moved away since."""
        for stored in list(self._catalogue.all()):
            by, scope = closed_by(stored.memory), stored.scope.name
            if not by or self._catalogue.get(Key(scope, by)) is not None:
                continue
            if self._corrected.was_taken_out(scope, by):
                async with self._recallable.writing:
                    await self._write(stored, _opened(stored))

    async def _write(self, stored: StoredMemory, made: Callable[[Memory], Memory]) -> None:
        """Rewrite the entry unless a person has changed the mark or deleted the entry."""
        current = await asyncio.to_thread(self._vault.current, stored)
        if current is None or closed_by(current.memory) != closed_by(stored.memory):
            return
        try:
            written = await asyncio.to_thread(self._vault.replace, current, made(current.memory))
        except (KeyError, VaultWriteFailed) as error:
            logger.debug("the closing of {} was not rewritten: {}", stored.memory.memory_id, error)
            return
        self._recallable.take(written)


def _opened(stored: StoredMemory) -> Callable[[Memory], Memory]:
    """Returns the rewrite that reopens the entry, and its task if it is one."""
    return lambda memory: still_open(reopened(memory) if is_task(stored) else memory)
