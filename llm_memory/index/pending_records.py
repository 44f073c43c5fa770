"""Migration mode: what a walk has still to bring into the vault is recalled already.

A pre-scope plugin's record stands here under the scope and the id that its memory will have, from
the moment it was seen until its batch stands in the vault. So an index that has it need not have it
anew, nothing is ever found twice, and every filter applies to it as to any memory. When the walk
ends nothing is left here: what carries no scope then belongs to none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Final

from ..catalogue.catalogue import Catalogue, key_of
from ..catalogue.recallable_memories import Follower
from ..models.data_models import StoredMemory
from ..models.passages import Key
from ..models.scope import ScopeFilter
from ..text.normalising import embedded_text
from ..text.scripts import fold
from .lexical_records import lexical_hash


@dataclass(frozen=True, slots=True)
class Waiting:
    """A memory to be, and its words as a scan looks through them."""

    stored: StoredMemory
    folded: str

    @classmethod
    def of(cls, stored: StoredMemory) -> Waiting:
        """Takes a while for many: ask in a thread."""
        return cls(stored, fold(embedded_text(stored.memory)))


type Look = Callable[[str, ScopeFilter], Awaitable[None]]
"""Has what could answer a question added, if that takes no time to speak of."""
_STORED: Final[Callable[[Waiting], StoredMemory]] = attrgetter("stored")
"""Quicker for a hundred thousand than a generator."""


class PendingRecords:
    """Records by the key of the memory that each will be. Touched from the event loop only.

    It is told by ``enqueue`` as the indexes are: a memory that has come needs to wait no more. The
    index of words is asked through it, so that what it holds already is not written again.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._by_scope: dict[str, dict[str, Waiting]] = {}
        self._words: Follower | None = None
        self._look: Look | None = None

    def follow_with(self, words: Follower) -> None:
        """The index of words: it is told of what waits, too."""
        self._words = words

    def look_ahead_with(self, look: Look | None) -> None:
        """Whom to ask for what was not read yet; None once all of it was."""
        self._look = look

    @property
    def looks_ahead(self) -> bool:
        """Not all was read yet."""
        return self._look is not None

    async def ahead(self, query: str, scope_filter: ScopeFilter) -> None:
        """Before a recall asks anything."""
        if self._look is not None:
            await self._look(query, scope_filter)

    def __len__(self) -> int:
        """How many there are, in all scopes."""
        return sum(map(len, self._by_scope.values()))

    def add(self, waiting: Iterable[Waiting]) -> None:
        """They are recalled from now on; not those whose memory lives already."""
        scopes = tuple(self._catalogue.counts())
        for one in waiting:
            stored = one.stored
            memory_id = stored.memory.memory_id
            known = self._by_scope.setdefault(stored.scope.name, {})
            # In whatever scope: an id is made of its scope, so a person has moved it there.
            if memory_id in known or any(self._catalogue.get(Key(s, memory_id)) for s in scopes):
                continue
            known[memory_id] = one
            if self._words is not None:
                self._words.enqueue(stored)

    def drop(self, keys: Iterable[Key]) -> None:
        """They are recalled no more, unless they live by now."""
        for key in keys:
            one = self._by_scope.get(key.scope, {}).pop(key.memory_id, None)
            if one is not None and self._words is not None:
                self._words.enqueue_removal(one.stored)

    def clear(self) -> None:
        """The walk is over, or given up."""
        self.drop([key_of(stored) for stored in self.all()])

    def enqueue(self, stored: StoredMemory) -> None:
        """A memory is new or was changed: it waits no more, if it did."""
        one = self._by_scope.get(stored.scope.name, {}).pop(stored.memory.memory_id, None)
        same = one is not None and lexical_hash(one.stored) == lexical_hash(stored)
        if self._words is not None and not same:
            self._words.enqueue(stored)

    def enqueue_removal(self, stored: StoredMemory) -> None:
        """A memory is gone."""
        if self._words is not None:
            self._words.enqueue_removal(stored)

    def get(self, key: Key) -> StoredMemory | None:
        """By scope and id."""
        one = self._by_scope.get(key.scope, {}).get(key.memory_id)
        return None if one is None else one.stored

    def find(self, memory_id: str, scope_filter: ScopeFilter) -> StoredMemory | None:
        """By id, among what the filter admits."""
        for name, waiting in self._by_scope.items():
            if memory_id in waiting and scope_filter.admits(name):
                return waiting[memory_id].stored
        return None

    def visible(self, scope_filter: ScopeFilter) -> Iterator[StoredMemory]:
        """What the filter admits."""
        seen = (some for name, some in self._by_scope.items() if scope_filter.admits(name))
        return map(_STORED, chain.from_iterable(map(dict.values, seen)))

    def all(self) -> Iterator[StoredMemory]:
        """Every one of every scope: for an index, never for a reader."""
        return map(_STORED, chain.from_iterable(map(dict.values, self._by_scope.values())))

    def folded(self, stored: StoredMemory) -> str:
        """What it says, ready to be looked through for words."""
        one = self._by_scope.get(stored.scope.name, {}).get(stored.memory.memory_id)
        return "" if one is None else one.folded
