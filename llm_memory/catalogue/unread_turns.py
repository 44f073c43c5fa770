"""What was said and is not read yet is recalled, where its memories will be.

A turn waits until reading pays, for days if little is said. Meanwhile it stands here as the
passive, unvouched memory that a plain reader would make of it, under the scope that was fixed when
it was said and for the readers whom ``place_name`` names. No file but the queue has its words: of
the indexes that of vectors alone follows it, and a search for words looks through it here. It is
gone as soon as its turn was read, moved, given up or taken back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from ..models.data_models import StoredMemory
from ..models.key import Key
from ..models.passages import place_name
from ..models.scope import ScopeFilter
from .recallable_memories import Follower

_SLICE: Final = 20
"""Turns looked at between two looks at the event loop: for each it may take a millisecond."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A turn's words as a memory, and as a scan looks through them."""

    ticket_id: str
    map_key: str
    stored: StoredMemory
    folded: str


class UnreadTurns:
    """By the place and id that each memory has. Touched from the event loop only."""

    def __init__(self) -> None:
        self._by_place: dict[str, dict[str, Unread]] = {}
        self._keys: dict[str, Key] = {}
        self._told: set[Key] = set()
        self._vectors: Follower | None = None
        self._is_shown: Callable[[Unread], bool] = lambda _: True

    def show_only(self, is_shown: Callable[[Unread], bool]) -> None:
        """Asked whenever something is recalled, for what was corrected or paused meanwhile."""
        self._is_shown = is_shown

    def follow_with(self, vectors: Follower) -> None:
        """The index of vectors: it is told of what is recalled, and of nothing else."""
        self._vectors = vectors

    def put(self, unread: Unread) -> None:
        """It is recalled from now on."""
        key = Key(place_name(unread.stored), unread.stored.memory.memory_id)
        self._by_place.setdefault(key.scope, {})[key.memory_id] = unread
        self._keys[unread.ticket_id] = key
        self._tell(key, unread, lives=self._is_shown(unread))

    def drop(self, tickets: Collection[str]) -> None:
        """They are recalled no more. Unknown ones are ignored."""
        for ticket in tickets:
            key = self._keys.pop(ticket, None)
            if key is not None:
                self._tell(key, self._by_place[key.scope].pop(key.memory_id), lives=False)

    def drop_scope(self, scope: str) -> None:
        """Those of a scope whose turns were moved: they are told anew where they are now."""
        self.drop([ticket for ticket, name in self.scopes().items() if name == scope])

    async def review(self) -> None:
        """Tell the index what is recalled no more, or again, since people corrected or paused
        something."""
        for number, ticket in enumerate(list(self._keys), start=1):
            if (key := self._keys.get(ticket)) is not None:
                one = self._by_place[key.scope][key.memory_id]
                self._tell(key, one, lives=self._is_shown(one))
            if number % _SLICE == 0:
                await asyncio.sleep(0)

    def _tell(self, key: Key, one: Unread, *, lives: bool) -> None:
        """The index, once for each change."""
        if lives == (key in self._told) or self._vectors is None:
            return
        if lives:
            self._told.add(key)
            self._vectors.enqueue(one.stored)
        else:
            self._told.remove(key)
            self._vectors.enqueue_removal(one.stored)

    def clear(self) -> None:
        """Let go of all. The index is told nothing: it is compared when it is opened again."""
        self._by_place.clear()
        self._keys.clear()
        self._told.clear()

    def __len__(self) -> int:
        """How many the index of vectors is told of."""
        return len(self._told)

    def all(self) -> Iterator[StoredMemory]:
        """Those: for that index, never for a reader."""
        return (self._by_place[key.scope][key.memory_id].stored for key in self._told)

    def scopes(self) -> dict[str, str]:
        """The scope of each by its ticket."""
        return {
            ticket: self._by_place[key.scope][key.memory_id].stored.scope.name
            for ticket, key in self._keys.items()
        }

    def get(self, key: Key) -> StoredMemory | None:
        """By place and id."""
        found = self._by_place.get(key.scope, {}).get(key.memory_id)
        return found.stored if found is not None and self._is_shown(found) else None

    def find(self, memory_id: str, scope_filter: ScopeFilter) -> StoredMemory | None:
        """By id, among what the filter admits."""
        named = (s for s in self.visible(scope_filter) if s.memory.memory_id == memory_id)
        return next(named, None)

    def visible(self, scope_filter: ScopeFilter) -> Iterator[StoredMemory]:
        """What the filter admits."""
        seen = (some for place, some in self._by_place.items() if scope_filter.admits(place))
        found = chain.from_iterable(map(dict.values, seen))
        return (one.stored for one in found if self._is_shown(one))

    def folded(self, stored: StoredMemory) -> str:
        """What it says, ready to be looked through for words."""
        one = self._by_place.get(place_name(stored), {}).get(stored.memory.memory_id)
        return "" if one is None else one.folded
