"""Makes queued turns recallable before reflection has read them.

A turn waits until reading it pays, for days if little is said. Meanwhile it is kept here as the
passive, unvouched memory that a literal reading would make of it, under the scope that was fixed
when it was said and for the readers whom ``place_name`` names. The indexes follow it. It is removed
as soon as its turn was read, moved, given up or withdrawn.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from itertools import chain

from ..models.data_models import StoredMemory
from ..models.passages import Key, place_name
from ..models.scope import ScopeFilter
from ..runtime.cooperative import unhurried
from .catalogue import key_of
from .day_index import DayIndex
from .recallable_memories import Follower
from .speaker_index import SpeakerIndex


@dataclass(frozen=True, slots=True)
class Unread:
    """A turn's words as a memory, and folded for scans. ``copies``: the ids of the memories that
    say the same."""

    ticket_id: str
    map_key: str
    stored: StoredMemory
    folded: str
    copies: frozenset[str] = frozenset()


async def _nothing_to_judge(_: Sequence[Unread]) -> None:
    pass


class UnreadTurns:
    """By the place and id that each memory has. Touched from the event loop only."""

    def __init__(self) -> None:
        self._by_place: dict[str, dict[str, Unread]] = {}
        self._keys: dict[str, Key] = {}
        self._notified: set[Key] = set()
        self._followers: list[Follower[StoredMemory]] = []
        self._is_shown: Callable[[Unread], bool] = lambda _: True
        self._judge: Callable[[Sequence[Unread]], Awaitable[None]] = _nothing_to_judge
        self.speakers = SpeakerIndex()
        self._by_day = DayIndex()

    def set_filter(
        self,
        is_shown: Callable[[Unread], bool],
        judge: Callable[[Sequence[Unread]], Awaitable[None]],
    ) -> None:
        """Set the filter for each recall: it hides what was corrected or paused meanwhile, and what
        ``judge``, which may take long, has not looked at since the last correction."""
        self._is_shown, self._judge = is_shown, judge

    def follow_with(self, follower: Follower[StoredMemory]) -> None:
        """Notify an index of what can be recalled."""
        self._followers.append(follower)

    def put(self, unread: Unread) -> None:
        """Make a turn recallable, once."""
        if unread.ticket_id in self._keys:
            return
        key = Key(place_name(unread.stored), unread.stored.memory.memory_id)
        self._by_place.setdefault(key.scope, {})[key.memory_id] = unread
        self._keys[unread.ticket_id] = key
        self.speakers.add(unread.stored)
        self._by_day.put(unread.stored)
        self._notify(key, unread, recallable=self._is_shown(unread))

    def drop(self, tickets: Collection[str]) -> None:
        """Remove the turns of these tickets; unknown tickets are ignored."""
        for ticket in tickets:
            key = self._keys.pop(ticket, None)
            if key is not None:
                one = self._by_place[key.scope].pop(key.memory_id)
                self.speakers.remove(one.stored)
                self._by_day.remove(one.stored)
                self._notify(key, one, recallable=False)

    def drop_scope(self, scope: str) -> None:
        """Remove the turns of a scope from which they were moved; they are added again in their new
        scope."""
        self.drop([ticket for ticket, name in self.scopes().items() if name == scope])

    async def review(self) -> None:
        """Judge all turns, and notify the indexes of what is hidden or shown again since the last
        correction or pause."""
        await self._judge(self._all())
        async for ticket in unhurried(list(self._keys)):
            if (key := self._keys.get(ticket)) is not None:
                one = self._by_place[key.scope][key.memory_id]
                self._notify(key, one, recallable=self._is_shown(one))

    def _all(self) -> list[Unread]:
        return [self._by_place[key.scope][key.memory_id] for key in self._keys.values()]

    def _notify(self, key: Key, one: Unread, *, recallable: bool) -> None:
        """Notify the indexes, once for each change."""
        if recallable == (key in self._notified):
            return
        (self._notified.add if recallable else self._notified.remove)(key)
        for follower in self._followers:
            (follower.enqueue if recallable else follower.enqueue_removal)(one.stored)

    def all(self) -> Iterator[StoredMemory]:
        """Returns the turns that the indexes should hold: never for a reader."""
        return (self._by_place[key.scope][key.memory_id].stored for key in self._notified)

    def scopes(self) -> dict[str, str]:
        """Returns each turn's scope by ticket."""
        return {
            ticket: self._by_place[key.scope][key.memory_id].stored.scope.name
            for ticket, key in self._keys.items()
        }

    def get(self, key: Key) -> StoredMemory | None:
        """Returns the turn with this place and id, if any."""
        found = self._by_place.get(key.scope, {}).get(key.memory_id)
        return found.stored if found is not None and self._is_shown(found) else None

    def waiting(self, key: Key) -> StoredMemory | None:
        """Returns the same also where it is hidden: for who takes back what hid it."""
        found = self._by_place.get(key.scope, {}).get(key.memory_id)
        return None if found is None else found.stored

    def followed(self, key: Key) -> StoredMemory | None:
        """Returns the turn that the indexes should hold there, hidden or not."""
        return self.waiting(key) if key in self._notified else None

    def copied(self, key: Key) -> frozenset[str]:
        """Returns the ids of the memories that say the same as the turn, none for no turn."""
        found = self._by_place.get(key.scope, {}).get(key.memory_id)
        return frozenset() if found is None else found.copies

    def find(self, memory_id: str, scope_filter: ScopeFilter) -> StoredMemory | None:
        """Returns the turn with this id if the filter admits it."""
        named = (s for s in self.visible(scope_filter) if s.memory.memory_id == memory_id)
        return next(named, None)

    def visible(self, scope_filter: ScopeFilter) -> Iterator[StoredMemory]:
        """Returns all turns that the filter admits."""
        seen = (some for place, some in self._by_place.items() if scope_filter.admits(place))
        found = chain.from_iterable(map(dict.values, seen))
        return (one.stored for one in found if self._is_shown(one))

    def of_days(
        self, first: date, last: date, scope_filter: ScopeFilter, zone: tzinfo | None, most: int
    ) -> Iterator[StoredMemory]:
        """Returns the turns of these days; see the catalogue. What was stored of a turn, by a tool,
        is told in its place."""
        seen = [place for place in self._by_place if scope_filter.admits(place)]
        found = self._by_day.newest_first(seen, first, last, zone, most)
        return iter([one for one in found if self._is_told(key_of(one))])

    def _is_told(self, key: Key) -> bool:
        stored = self.copied(key) - {key.memory_id}
        return not stored and self.get(key) is not None

    def folded(self, stored: StoredMemory) -> str:
        """Returns its text, folded for word searches."""
        one = self._by_place.get(place_name(stored), {}).get(stored.memory.memory_id)
        return "" if one is None else one.folded
