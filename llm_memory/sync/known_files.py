"""What stands in the files, told to the catalogue and the indexes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from itertools import batched

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..models.data_models import StoredMemory
from ..models.key import Key
from ..models.scope import Scope
from ..vault.models import KnownEntry, SeenFile

_SLICE = 50
"""Memories told to the indexes between two looks at the event loop."""


class KnownVaultFiles:
    """While ``loading``, the catalogue alone is told: the indexes are compared with all of it when
    they are opened. Touched from the event loop only."""

    def __init__(self, catalogue: Catalogue, living: RecallableMemories) -> None:
        self._catalogue = catalogue
        self._living = living
        self.loading = False

    @property
    def writing(self) -> asyncio.Lock:
        """Held by whoever writes to the vault."""
        return self._living.writing

    def path(self, scope: str, memory_id: str) -> str | None:
        """The file in which a memory lives, as far as we know."""
        stored = self._catalogue.get(Key(scope, memory_id))
        return None if stored is None else stored.path

    async def take(self, memories: Iterable[StoredMemory]) -> None:
        """They live so; what is known already is passed over."""
        for some in batched(memories, _SLICE):
            for stored in some:
                if self._catalogue.get(Key(stored.scope.name, stored.memory.memory_id)) == stored:
                    continue
                (self._catalogue.put if self.loading else self._living.take)(stored)
            await asyncio.sleep(0)

    async def drop(self, entries: Iterable[KnownEntry]) -> None:
        """They live no more."""
        for some in batched(entries, _SLICE):
            for entry in some:
                stored = self._catalogue.get(Key(entry.scope, entry.memory_id))
                if stored is not None:
                    (self._catalogue.remove if self.loading else self._living.drop)(stored)
            await asyncio.sleep(0)

    async def load(self, memories: Iterable[StoredMemory]) -> None:
        """Take in what was read; what is known already is newer, and stays."""
        for some in batched(memories, _SLICE):
            self._living.load(some)
            await asyncio.sleep(0)

    async def renew(self, file: SeenFile) -> None:
        """Nobody changed the file; its time may be another, and entries without one have that."""
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
    """Entries as they were last known; ``named`` gives a folder's scope."""
    scopes = {name: named(name) for name in {entry.scope for entry in entries}}
    found = ((scopes[entry.scope], entry) for entry in entries)
    return [StoredMemory(scope, e.path, e.memory) for scope, e in found if scope is not None]
