"""Passes the content of the files on to the catalogue and the indexes, a slice at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from ..catalogue.catalogue import Catalogue, entry_key
from ..catalogue.recallable_memories import RecallableMemories
from ..models.data_models import StoredMemory
from ..models.passages import Key
from ..models.scope import Scope
from ..runtime.cooperative import unhurried
from ..vault.models import KnownEntry


class KnownVaultFiles:
    """While ``loading`` the indexes hear nothing of what is new: they take in all that lives when
    they are opened. Used from the event loop only."""

    def __init__(
        self,
        catalogue: Catalogue,
        recallable: RecallableMemories,
        named: Callable[[str], Scope | None],
    ) -> None:
        self._catalogue = catalogue
        self._named = cache(named)
        self._recallable = recallable
        self.writing = recallable.writing
        self.loading = False

    async def take(self, memories: Iterable[StoredMemory]) -> None:
        """Make memories recallable; unchanged ones are skipped."""
        async for stored in unhurried(memories):
            known = self._catalogue.get(entry_key(stored))
            if known is None and self.loading:
                self._recallable.load([stored])
            elif known != stored:
                self._recallable.take(stored)

    async def load(self, entries: Iterable[KnownEntry]) -> None:
        """Add what was known; what the catalogue has by now is newer, and is kept."""
        async for entry in unhurried(entries):
            if (scope := self._named(entry.scope)) is not None:
                self._recallable.load([StoredMemory(scope, entry.path, entry.memory)])

    async def drop(self, entries: Iterable[KnownEntry]) -> None:
        """Remove entries from catalogue and indexes."""
        async for entry in unhurried(entries):
            stored = self._catalogue.get(Key(entry.scope, entry.memory_id))
            if stored is not None:
                self._recallable.drop(stored)
