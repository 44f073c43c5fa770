"""What a later statement has settled, followed when that one leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.closing import closed, closed_by
from ..catalogue.rules.closing import reopened as still_open
from ..catalogue.rules.tasks import is_task, reopened
from ..errors import VaultWriteFailed
from ..log import logger
from ..models.data_models import Memory, StoredMemory
from ..models.key import Key
from ..models.passages import place_name
from ..vault.markdown_vault import MarkdownVault
from .corrected_statements import CorrectedStatements


class Closings:
    """What is settled stays so when that which settled it fades; taken out by a person, it is open
    again; and where something took its place, that has settled it."""

    def __init__(
        self,
        vault: MarkdownVault,
        catalogue: Catalogue,
        living: RecallableMemories,
        corrected: CorrectedStatements,
    ) -> None:
        self._vault = vault
        self._catalogue = catalogue
        self._living = living
        self._corrected = corrected

    async def hand_on(self, former: StoredMemory, successor: StoredMemory) -> None:
        """``former`` is about to leave for what takes its place. Whoever calls holds the lock."""
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
        """What was settled by something that a person has forgotten, or moved elsewhere, since."""
        for stored in list(self._catalogue.all()):
            by, scope = closed_by(stored.memory), stored.scope.name
            if not by or self._catalogue.get(Key(scope, by)) is not None:
                continue
            if self._corrected.was_taken_out(scope, by):
                async with self._living.writing:
                    await self._write(stored, _opened(stored))

    async def _write(self, stored: StoredMemory, made: Callable[[Memory], Memory]) -> None:
        """Unless a person has changed the mark, or taken the entry out."""
        current = await asyncio.to_thread(self._vault.current, stored)
        if current is None or closed_by(current.memory) != closed_by(stored.memory):
            return
        try:
            written = await asyncio.to_thread(self._vault.replace, current, made(current.memory))
        except (KeyError, VaultWriteFailed) as error:
            logger.debug("{} 的了结没有改写：{}", stored.memory.memory_id, error)
            return
        self._living.take(written)


def _opened(stored: StoredMemory) -> Callable[[Memory], Memory]:
    """A task is to be done again, too."""
    return lambda memory: still_open(reopened(memory) if is_task(stored) else memory)
