"""Passes the content of the files on to the catalogue and the indexes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from itertools import batched

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..models.data_models import StoredMemory
from ..models.passages import Key
from ..models.scope import Scope
from ..vault.models import KnownEntry, SeenFile

_SLICE = 50
"""Memories enqueued for the indexes before control returns to the event loop."""


class KnownVaultFiles:
    """While ``loading``, only the catalogue is updated: the indexes are compared with it when they
    are opened. Used from the event loop only."""

    def __init__(self, catalogue: Catalogue, recallable: RecallableMemories) -> None:
        self._catalogue = catalogue
        self._recallable = recallable
        self.loading = False

    @property
    def writing(self) -> asyncio.Lock:
        """Returns the lock that every writer to the vault holds."""
        return self._recallable.writing

    def path(self, scope: str, memory_id: str) -> str | None:
        """Returns the file of a memory according to the catalogue."""
        stored = self._catalogue.get(Key(scope, memory_id))
        return None if stored is None else stored.path

    async def take(self, memories: Iterable[StoredMemory]) -> None:
        """Make memories recallable; unchanged ones are skipped."""
        for some in batched(memories, _SLICE):
            for stored in some:
                if self._catalogue.get(Key(stored.scope.name, stored.memory.memory_id)) == stored:
                    continue
                (self._catalogue.put if self.loading else self._recallable.take)(stored)
            await asyncio.sleep(0)

    async def drop(self, entries: Iterable[KnownEntry]) -> None:
        """Remove entries from catalogue and indexes."""
        for some in batched(entries, _SLICE):
            for entry in some:
                stored = self._catalogue.get(Key(entry.scope, entry.memory_id))
                if stored is not None:
                    (self._catalogue.remove if self.loading else self._recallable.drop)(stored)
            await asyncio.sleep(0)

    async def load(self, memories: Iterable[StoredMemory]) -> None:
        """Add what was read; an entry already known is newer and is kept."""
        for some in batched(memories, _SLICE):
            self._recallable.load(some)
            await asyncio.sleep(0)

    async def renew(self, file: SeenFile) -> None:
        """Update an unchanged file's entries without a time: they have the file's, which may
        differ."""
        found = (StoredMemory(file.scope, file.path, entry.memory) for entry in file.entries)
        if self.loading:
            await self.load(found)
            return
        await self.take(
            stored
            for stored in found
            if self.path(file.scope.name, stored.memory.memory_id) == file.path
        )


def stored_as_known(
    entries: Sequence[KnownEntry], named: Callable[[str], Scope | None]
) -> list[StoredMemory]:
    """Returns entries as last known; ``named`` returns a folder's scope."""
    scopes = {name: named(name) for name in {entry.scope for entry in entries}}
    found = ((scopes[entry.scope], entry) for entry in entries)
    return [StoredMemory(scope, e.path, e.memory) for scope, e in found if scope is not None]
