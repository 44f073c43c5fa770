"""What was said and is not read yet is recalled by its words, where its memories will be.

A turn waits until reading pays, for days if little is said. Meanwhile it stands here as the
passive, unvouched memory that a plain reader would make of it, under the scope that was fixed when
it was said and for the readers whom ``place_name`` names. It lies in no index and in no other file
than the queue, and it is gone as soon as its turn was read, moved, given up or taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import chain

from ..models.data_models import StoredMemory
from ..models.passages import place_name
from ..models.scope import ScopeFilter
from ..ports import Key


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
        self._is_shown: Callable[[Unread], bool] = lambda _: True

    def show_only(self, is_shown: Callable[[Unread], bool]) -> None:
        """Asked whenever something is recalled, for what was corrected or paused meanwhile."""
        self._is_shown = is_shown

    def put(self, unread: Unread) -> None:
        """It is recalled from now on."""
        key = Key(place_name(unread.stored), unread.stored.memory.memory_id)
        self._by_place.setdefault(key.scope, {})[key.memory_id] = unread
        self._keys[unread.ticket_id] = key

    def drop(self, tickets: Collection[str]) -> None:
        """They are recalled no more. Unknown ones are ignored."""
        for ticket in tickets:
            key = self._keys.pop(ticket, None)
            if key is not None:
                self._by_place[key.scope].pop(key.memory_id, None)

    def drop_scope(self, scope: str) -> None:
        """Those of a scope whose turns were moved: they are told anew where they are now."""
        self.drop([ticket for ticket, name in self.scopes().items() if name == scope])

    def clear(self) -> None:
        """Let go of all."""
        self._by_place.clear()
        self._keys.clear()

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
