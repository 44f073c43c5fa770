"""Moves memories to the archive at night."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from ..catalogue.catalogue import Catalogue, entry_key
from ..catalogue.recallable_memories import RecallableMemories
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import StoredMemory
from ..models.passages import place_name
from ..remember.rules.gate import MAX_TAGS
from ..runtime.identifiers import Clock
from ..vault.markdown_vault import MarkdownVault

FADED_BY: Final = Actor("", "夜间整理：想起了总没用")
"""Named in the archive as who has forgotten the memory."""


class ArchiveStep:
    """Moves entries that are still as they were chosen; what a person changed meanwhile stays."""

    def __init__(
        self,
        vault: MarkdownVault,
        catalogue: Catalogue,
        living: RecallableMemories,
        clock: Clock,
    ) -> None:
        self._vault = vault
        self._catalogue = catalogue
        self._living = living
        self._clock = clock

    async def fade(self, faded: list[StoredMemory]) -> int:
        """Archive these. Returns how many have left. Raises VaultWriteFailed."""
        async with self._living.writing:
            return await self._move(faded, FADED_BY)

    async def merge(self, loser: StoredMemory, into: StoredMemory) -> bool:
        """Archive a memory that ``into`` says as well. ``into`` takes over its strength, tags and,
        where it has none, questions. Returns False if both stay: one is gone, has other readers
        now, or was changed at this moment. Raises VaultWriteFailed."""
        async with self._living.writing:
            now, other = (self._catalogue.get(entry_key(one)) for one in (loser, into))
            if now is None or now.memory.active or not await self._strengthen(other, now):
                return False
            by = Actor("", f"被 {into.memory.memory_id} 取代")
            return await self._move([now], by) > 0

    async def _move(self, stored: list[StoredMemory], by: Actor) -> int:
        at = self._clock().replace(microsecond=0)
        gone = await asyncio.to_thread(self._vault.archive_many, stored, by=by, at=at)
        for one in gone:
            self._living.drop(one)
            logger.debug("nightly tidy-up: {} archived", one.memory.memory_id)
        return len(gone)

    async def _strengthen(self, into: StoredMemory | None, loser: StoredMemory) -> bool:
        if into is None or place_name(into) != place_name(loser):
            return False
        if into.memory.active:
            return True
        known = into.memory
        tags = tuple(dict.fromkeys((*known.tags, *loser.memory.tags)))[:MAX_TAGS]
        strength = max(known.strength, loser.memory.strength)
        asks = known.asks or loser.memory.asks
        stronger = replace(known, strength=strength, tags=tags, asks=asks)
        if stronger == known:
            return True
        try:
            self._living.take(await asyncio.to_thread(self._vault.replace, into, stronger))
        except KeyError:
            return False
        return True
