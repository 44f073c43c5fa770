"""The one way by which a memory begins or ends to be recallable: the vault comes before it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from ..models.data_models import StoredMemory
from ..models.passages import place_name
from .catalogue import Catalogue, entry_key


class Follower(Protocol):
    """An index that keeps up with the vault behind the bot. Returns at once."""

    def enqueue(self, stored: StoredMemory) -> None:
        """A memory is new or was changed."""
        ...

    def enqueue_removal(self, stored: StoredMemory) -> None:
        """A memory is gone."""
        ...


class RecallableMemories:
    """The catalogue and the indexes that follow it. Touched from the event loop only."""

    def __init__(
        self,
        catalogue: Catalogue,
        followers: Sequence[Follower],
        grown: Callable[[int], None] = lambda _: None,
    ) -> None:
        """``grown`` is told how many were loaded: the followers are not."""
        self._catalogue = catalogue
        self._followers = tuple(followers)
        self._grown = grown
        self.writing = asyncio.Lock()
        """Held by whoever writes to the vault, until catalogue and indexes know of it."""

    def take(self, stored: StoredMemory) -> None:
        """It stands in the vault, new or changed. An index drops it where it stood before, if it is
        read by others now."""
        before = self._catalogue.get(entry_key(stored))
        self._catalogue.put(stored)
        if before is not None and place_name(before) != place_name(stored):
            for follower in self._followers:
                follower.enqueue_removal(before)
        for follower in self._followers:
            follower.enqueue(stored)

    def load(self, stored: Sequence[StoredMemory]) -> None:
        """They stood in the vault at the start; what is known already is newer, and stays. The
        indexes are compared with all that lives when they are opened."""
        self._catalogue.load(stored)
        self._grown(len(stored))

    def drop(self, stored: StoredMemory) -> None:
        """It is out of the vault."""
        known = self._catalogue.get(entry_key(stored)) or stored
        self._catalogue.remove(known)
        for follower in self._followers:
            follower.enqueue_removal(known)
