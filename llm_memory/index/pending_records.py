"""Migration mode: what a walk has still to bring into the vault is recalled already.

A pre-scope plugin's record stands here under the scope and the id that its memory will have, from
the moment it was seen until its batch stands in the vault. So nothing is ever found twice, and
every filter applies to it as to any memory. When the walk ends nothing is left here: what carries
no scope then belongs to none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import chain

from ..catalogue.catalogue import Catalogue, key_of
from ..catalogue.recallable_memories import Follower
from ..models.data_models import StoredMemory
from ..models.passages import Key
from ..models.scope import ScopeFilter

type Look = Callable[[str, ScopeFilter], Awaitable[None]]
"""Has what could answer a question added, if that takes no time to speak of."""


class PendingRecords:
    """Records by the key of the memory that each will be. Touched from the event loop only.

    It is told by ``enqueue`` as the indexes are: a memory that has come needs to wait no more.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._by_scope: defaultdict[str, dict[str, StoredMemory]] = defaultdict(dict)
        self._followers: list[Follower[StoredMemory]] = []
        self.look: Look | None = None
        """Whom to ask for what was not read yet; None once all of it was."""

    def follow_with(self, follower: Follower[StoredMemory]) -> None:
        """It is told of what waits."""
        self._followers.append(follower)

    def add(self, waiting: Iterable[StoredMemory]) -> None:
        """They are recalled from now on; not those whose memory lives already."""
        scopes = tuple(self._catalogue.counts())
        for stored in waiting:
            memory_id = stored.memory.memory_id
            known = self._by_scope[stored.scope.name]
            # In whatever scope: an id is made of its scope, so a person has moved it there.
            if memory_id in known or any(self._catalogue.get(Key(s, memory_id)) for s in scopes):
                continue
            known[memory_id] = stored
            for follower in self._followers:
                follower.enqueue(stored)

    def drop(self, keys: Iterable[Key]) -> None:
        """They are recalled no more, unless they live by now."""
        for key in keys:
            stored = self._by_scope[key.scope].pop(key.memory_id, None)
            if stored is not None:
                for follower in self._followers:
                    follower.enqueue_removal(stored)

    def clear(self) -> None:
        """The walk is over, or given up."""
        self.drop([key_of(stored) for stored in self.all()])

    def enqueue(self, stored: StoredMemory) -> None:
        """A memory is new or was changed: it waits no more, if it did."""
        self._by_scope[stored.scope.name].pop(stored.memory.memory_id, None)

    def enqueue_removal(self, stored: StoredMemory) -> None:
        """A memory is gone: none of those that wait."""

    def get(self, key: Key) -> StoredMemory | None:
        """By scope and id."""
        return self._by_scope.get(key.scope, {}).get(key.memory_id)

    def find(self, memory_id: str, scope_filter: ScopeFilter) -> StoredMemory | None:
        """By id, among what the filter admits."""
        named = (one for one in self.visible(scope_filter) if one.memory.memory_id == memory_id)
        return next(named, None)

    def visible(self, scope_filter: ScopeFilter) -> Iterator[StoredMemory]:
        """What the filter admits."""
        seen = (some for name, some in self._by_scope.items() if scope_filter.admits(name))
        return chain.from_iterable(map(dict.values, seen))

    def all(self) -> Iterator[StoredMemory]:
        """Every one of every scope: for an index, never for a reader."""
        return chain.from_iterable(map(dict.values, self._by_scope.values()))
