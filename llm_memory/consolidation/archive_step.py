"""Memories that leave for the archive in a nightly run: chosen first, on disk, then moved."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import batched
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import StoredMemory
from ..models.key import Key
from ..models.passages import place_name
from ..models.scope import Scope
from ..remember.closings import Closings
from ..remember.rules.normalise import MAX_TAGS
from ..runtime.identifiers import Clock
from ..runtime.shielded import shielded
from ..vault.markdown_vault import MarkdownVault
from .models import ArchiveDecision, ArchiveReason
from .rules.decay import most_leaving
from .sleep_store import SqliteSleepStore

FADED_BY: Final = Actor("", "夜间整理：想起了总没用")
"""Who the archive says has forgotten it."""
_AT_ONCE: Final = 10


class ArchiveStep:
    """Never more than a quarter of a scope's living entries in one run: what was chosen is on disk
    before the first one leaves, so that a crash in between chooses none anew."""

    def __init__(
        self,
        store: SqliteSleepStore,
        vault: MarkdownVault,
        catalogue: Catalogue,
        living: RecallableMemories,
        closings: Closings,
        clock: Clock,
    ) -> None:
        self._store = store
        self._vault = vault
        self._catalogue = catalogue
        self._living = living
        self._closings = closings
        self._clock = clock

    async def room(self, run_id: str, scope: Scope) -> int:
        """How many more may be chosen. Raises StateUnavailable."""
        living = self._catalogue.counts().get(scope.name, 0)

        def ask() -> int:
            most = self._store.quota(run_id, scope.name, most_leaving(living))
            return max(most - len(self._store.departures(run_id, scope.name)), 0)

        return await asyncio.to_thread(ask)

    async def choose(self, run_id: str, departures: Sequence[ArchiveDecision]) -> None:
        """These leave. Raises StateUnavailable."""
        if departures:
            await asyncio.to_thread(self._store.choose, run_id, departures)

    async def carry_out(self, run_id: str, scope: Scope) -> None:
        """Move what was chosen and still stands; a person who changed it meanwhile keeps it.

        Raises StateUnavailable, VaultWriteFailed: the rest is tried again.
        """
        chosen = await asyncio.to_thread(self._store.departures, run_id, scope.name)
        waiting = [departure for departure in chosen if not departure.done]
        for some in batched(waiting, _AT_ONCE):
            await shielded(self._carry_out(run_id, scope, some))
            await asyncio.sleep(0)

    async def _carry_out(self, run_id: str, scope: Scope, some: Sequence[ArchiveDecision]) -> None:
        await self._archive(scope, some)
        names = [departure.memory_id for departure in some]
        await asyncio.to_thread(self._store.depart, run_id, scope.name, names)

    async def left(self, run_id: str, scope: Scope) -> dict[ArchiveReason, int]:
        """How many have left so far, by why. Raises StateUnavailable."""
        chosen = await asyncio.to_thread(self._store.departures, run_id, scope.name)
        counts = dict.fromkeys(ArchiveReason, 0)
        for departure in chosen:
            stands = self._catalogue.get(Key(scope.name, departure.memory_id))
            counts[departure.kind] += int(departure.done and stands is None)
        return counts

    async def _archive(self, scope: Scope, some: Sequence[ArchiveDecision]) -> None:
        faded: list[StoredMemory] = []
        for departure in some:
            stored = self._catalogue.get(Key(scope.name, departure.memory_id))
            if stored is None or stored.memory.active:
                continue
            if departure.kind is ArchiveReason.FADED:
                faded.append(stored)
            else:
                async with self._living.writing:
                    if await self._strengthen(scope, departure, stored):
                        into = self._catalogue.get(Key(scope.name, departure.into))
                        if into is not None:
                            await self._closings.repoint(stored, into)
                        await self._move([stored], Actor("", f"被 {departure.into} 取代"))
        if faded:
            async with self._living.writing:
                await self._move(faded, FADED_BY)

    async def _move(self, stored: list[StoredMemory], by: Actor) -> None:
        at = self._clock().replace(microsecond=0)
        gone = await asyncio.to_thread(self._vault.archive_many, stored, by=by, at=at)
        for one in gone:
            self._living.drop(one)
            logger.debug("夜间整理：{} 移进存档", one.memory.memory_id)

    async def _strengthen(
        self, scope: Scope, departure: ArchiveDecision, loser: StoredMemory
    ) -> bool:
        """What says the same takes over strength, tags and, where it has none, questions. False if
        it is gone, is read by others now, or was changed at this moment: then both stay."""
        into = self._catalogue.get(Key(scope.name, departure.into))
        if into is None or place_name(into) != place_name(loser):
            return False
        if into.memory.active:
            return True
        known = into.memory
        tags = tuple(dict.fromkeys((*known.tags, *loser.memory.tags)))[:MAX_TAGS]
        strength = max(known.strength, departure.strength)
        asks = known.asks or loser.memory.asks
        stronger = replace(known, strength=strength, tags=tags, asks=asks)
        if stronger == known:
            return True
        try:
            self._living.take(await asyncio.to_thread(self._vault.replace, into, stronger))
        except KeyError:
            return False
        return True
