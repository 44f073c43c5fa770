"""Makes memories recallable, or no longer so: always after the vault was written."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from ..models.data_models import StoredMemory
from ..models.passages import place_name
from .catalogue import Catalogue, entry_key
from .rules.passage_text import context_text, indexed_text


class Follower[P](Protocol):
    """An index that follows the vault in the background. Its methods return at once."""

    def enqueue(self, passage: P, /) -> None:
        """It is new or was changed."""
        ...

    def enqueue_removal(self, passage: P, /) -> None:
        """It was removed, or is about to be another one."""
        ...


class RecallableMemories:
    """The catalogue and the indexes that follow it. Touched from the event loop only."""

    def __init__(
        self,
        catalogue: Catalogue,
        followers: Sequence[Follower[StoredMemory]],
    ) -> None:
        self._catalogue = catalogue
        self._followers = tuple(followers)
        self.writing = asyncio.Lock()
        """Every writer holds it from the vault's write until catalogue and indexes know of it."""

    def take(self, stored: StoredMemory) -> None:
        """Add or update a memory that the vault holds. Of one that changed for an index nothing
        stays there as it was."""
        before = self._catalogue.get(entry_key(stored))
        self._catalogue.put(stored)
        if before is not None and _indexed(before) == _indexed(stored):
            return
        for follower in self._followers:
            if before is not None:
                follower.enqueue_removal(before)
            follower.enqueue(stored)

    def load(self, stored: Sequence[StoredMemory]) -> None:
        """Add memories read from the vault at the start; an entry already known is newer and is
        kept. The followers are not told: the indexes are compared when they are opened."""
        self._catalogue.load(stored)

    def drop(self, stored: StoredMemory) -> None:
        """Remove a memory that the vault no longer holds."""
        known = self._catalogue.get(entry_key(stored)) or stored
        self._catalogue.remove(known)
        for follower in self._followers:
            follower.enqueue_removal(known)


def _indexed(stored: StoredMemory) -> tuple[object, ...]:
    """All that an index knows of a memory."""
    memory = stored.memory
    texts = indexed_text(stored), context_text(stored), memory.asks
    return place_name(stored), memory.created_at, memory.provenance.conversation, *texts
