"""Every recallable memory by place and id: the vault's content, in memory.

It makes acknowledged memories visible at once, and it decides what exists: an index hit that it
does not know is dropped. Used from the event loop only.

The place says who may read a memory (``place_name``): the readers of its scope, or the one person
whose shelf it is on. Readers query by place; a service that changes an entry names its scope and id
(``get``).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from itertools import chain, islice

from ..models.data_models import Memory, MemoryKind, Source, StoredMemory, Topic
from ..models.passages import Key, Passage, passage_id, place_name
from ..models.scope import Scope, ScopeFilter
from ..models.vault_layout import topic_of
from ..runtime.cooperative import cooperative, unhurried
from ..text.normalising import embedded_text, same_words
from ..text.scripts import fold
from .day_index import DayIndex
from .rules.event_day import is_another_event
from .speaker_index import SpeakerIndex

type _WordsKey = tuple[str, str, str, bool, bool]
_SAME_EVENTS = 30
"""So many of the newest events that say the same are compared by their days."""


def key_of(passage: Passage) -> Key:
    """Returns the index key of a memory or a piece of a note."""
    return Key(place_name(passage), passage_id(passage))


def entry_key(stored: StoredMemory) -> Key:
    """Returns the key of an entry, its scope and id: for counters and notes about it."""
    return Key(stored.scope.name, stored.memory.memory_id)


class Catalogue:
    """The memories of all scopes; every query names what the asker may see. ``as_held`` returns an
    entry with the trust that it has here, where the files do not decide that."""

    def __init__(self, as_held: Callable[[StoredMemory], StoredMemory] = lambda one: one) -> None:
        self._as_held = as_held
        self._by_place: dict[str, dict[str, StoredMemory]] = {}
        self._on_shelves: dict[Key, str] = {}
        """The places of memories that are not under their scope's name, by scope and id."""
        self._counts: Counter[str] = Counter()
        self._same_words: dict[_WordsKey, str] = {}
        self._same_events: dict[_WordsKey, dict[str, None]] = {}
        self._folded: dict[str, dict[str, str]] = {}
        """By place and id, in the order of ``_by_place``."""
        self._by_topic: dict[tuple[str, Topic], dict[str, StoredMemory]] = {}
        self._by_day = DayIndex()
        self.speakers = SpeakerIndex()

    def __len__(self) -> int:
        """Returns the number of memories in all scopes."""
        return sum(map(len, self._by_place.values()))

    async def release(self) -> None:
        """Release everything in slices: freeing a hundred thousand at once blocks the loop."""
        left = list(self.all())
        async for _ in unhurried(range(len(left))):
            self.remove(left.pop())
        self._by_place.clear()
        self._on_shelves.clear()
        self._counts.clear()
        self._same_words.clear()
        self._same_events.clear()
        self._folded.clear()
        self._by_topic.clear()
        self._by_day.clear()
        self.speakers.clear()

    def load(self, memories: Iterable[StoredMemory]) -> None:
        """Add what was read from the vault. An entry already known is newer and is kept."""
        for stored in memories:
            if self.get(entry_key(stored)) is None:
                self.put(stored)

    def put(self, stored: StoredMemory) -> None:
        """Add, or replace by scope and id. If its readers changed, its place changes."""
        self.remove(stored)
        stored = self._as_held(stored)
        memory = stored.memory
        origin = memory.provenance
        shared = replace(
            origin,
            who=sys.intern(origin.who),
            person=sys.intern(origin.person),
            conversation=sys.intern(origin.conversation),
        )
        known = replace(memory, provenance=shared, created_at=_at_its_offset(memory.created_at))
        kept = replace(stored, path=sys.intern(stored.path), memory=known)
        place = place_name(kept)
        self._by_place.setdefault(place, {})[memory.memory_id] = kept
        self._counts[stored.scope.name] += 1
        if place != stored.scope.name:
            self._on_shelves[entry_key(kept)] = place
        words = _words_key(place, memory)
        self._same_words[words] = memory.memory_id
        if memory.kind is MemoryKind.EVENT:
            self._same_events.setdefault(words, {})[memory.memory_id] = None
        folded = self._folded.setdefault(place, {})
        folded[memory.memory_id] = fold(embedded_text(memory))
        topic = topic_of(kept.path)
        if topic is not None:
            of_topic = self._by_topic.setdefault((place, topic), {})
            of_topic[memory.memory_id] = kept
        self._by_day.put(kept)
        self.speakers.add(kept)

    def remove(self, stored: StoredMemory) -> None:
        """Remove by scope and id, if present."""
        known = self.get(entry_key(stored))
        if known is None:
            return
        memory_id, place = known.memory.memory_id, place_name(known)
        del self._by_place[place][memory_id]
        self._on_shelves.pop(entry_key(known), None)
        self._counts[known.scope.name] -= 1
        del self._folded[place][memory_id]
        words = _words_key(place, known.memory)
        if self._same_words.get(words) == memory_id:
            del self._same_words[words]
        if events := self._same_events.get(words):
            events.pop(memory_id, None)
            if not events:
                del self._same_events[words]
        topic = topic_of(known.path)
        if topic is not None:
            self._by_topic[place, topic].pop(memory_id, None)
        self._by_day.remove(known)
        self.speakers.remove(known)

    def folded(self, stored: StoredMemory) -> str:
        """Returns the memory's text, folded for word searches."""
        return self._folded.get(place_name(stored), {}).get(stored.memory.memory_id, "")

    def get(self, key: Key) -> StoredMemory | None:
        """Returns an entry by scope and id, on a shelf or not: for changes, never for a reader."""
        place = self._on_shelves.get(key, key.scope)
        return self._by_place.get(place, {}).get(key.memory_id)

    def at(self, key: Key) -> StoredMemory | None:
        """Returns a memory by place and id, as an index names it; None if its place changed."""
        return self._by_place.get(key.scope, {}).get(key.memory_id)

    def find(self, memory_id: str, scope_filter: ScopeFilter) -> StoredMemory | None:
        """Returns a memory by id if the filter admits it, the reader's own scope first."""
        for name in self._visible_names(scope_filter):
            stored = self._by_place[name].get(memory_id)
            if stored is not None:
                return stored
        return None

    def same_words(self, scope: Scope, memory: Memory) -> StoredMemory | None:
        """Returns a memory of the same speaker in the same scope with the same words, of
        the same event and with the same readers or more: repeating in private what was said openly
        adds nothing."""
        own = place_name(StoredMemory(scope, "", memory))
        for place in dict.fromkeys((own, scope.name)):
            words = _words_key(place, memory)
            newest = self._same_words.get(words)
            events = islice(reversed(self._same_events.get(words, {})), _SAME_EVENTS)
            for memory_id in (*([newest] if newest else ()), *events):
                known = self._by_place[place].get(memory_id)
                if known is not None and not is_another_event(known.memory, memory):
                    return known
        return None

    def visible(self, scope_filter: ScopeFilter) -> Iterator[StoredMemory]:
        """Returns all memories that the filter admits, the reader's own scope first. Not a
        generator: a scan copies all of it on the event loop."""
        names = self._visible_names(scope_filter)
        return chain.from_iterable(self._by_place[name].values() for name in names)

    def visible_with_text(self, scope_filter: ScopeFilter) -> Iterator[tuple[StoredMemory, str]]:
        """Returns the memories of ``visible``, each with its ``folded`` text, for a thread to go
        through: the copy is made at once."""
        names = self._visible_names(scope_filter)
        texts = list(chain.from_iterable(self._folded[name].values() for name in names))
        return cooperative(zip(list(self.visible(scope_filter)), texts, strict=True))

    async def unchanged(self, found: Iterable[StoredMemory]) -> list[StoredMemory]:
        """Returns those of ``found`` that are still as they were then; compared in slices."""
        return [one async for one in unhurried(found) if self.at(key_of(one)) is one]

    def of_topics(
        self, topics: Collection[Topic], scope_filter: ScopeFilter
    ) -> Iterator[StoredMemory]:
        """Returns the memories in the files of topics that the filter admits: the reader's own
        scope first, in each the newest first. Copied at once: a thread may go through it."""
        files = (
            self._by_topic.get((name, topic), {})
            for name in self._visible_names(scope_filter)
            for topic in topics
        )
        return chain.from_iterable([list(reversed(found.values())) for found in files])

    def of_days(
        self,
        first: date,
        last: date,
        scope_filter: ScopeFilter,
        zone: tzinfo | None,
        most: int = 1000,
    ) -> Iterator[StoredMemory]:
        """Returns what was said from ``first`` to ``last``, days in ``zone``, as far as the filter
        admits it: the reader's own scope first, in each the newest days first and the newest
        memories of a day first; at most ``most`` of each scope."""
        names = self._visible_names(scope_filter)
        return self._by_day.newest_first(names, first, last, zone, most)

    def telling_of_days(
        self, first: date, last: date, scope_filter: ScopeFilter, most: int
    ) -> Iterator[StoredMemory]:
        """Returns what tells of the days from ``first`` to ``last``, where the entries note such a
        day; the rest is as in ``of_days``."""
        return self._by_day.telling_of(self._visible_names(scope_filter), first, last, most)

    def _visible_names(self, scope_filter: ScopeFilter) -> list[str]:
        if scope_filter.everything:
            return [name for name in self._by_place if scope_filter.admits(name)]
        return [name for name in scope_filter.names if name in self._by_place]

    def all(self) -> Iterator[StoredMemory]:
        """Returns every memory of every scope: for the index, never for a reader."""
        return chain.from_iterable(map(dict.values, self._by_place.values()))

    def of_scope(self, scope: Scope) -> list[StoredMemory]:
        """Returns every memory whose entry is in the scope, on a shelf or not: for maintenance,
        never for a reader."""
        shelves = {place for key, place in self._on_shelves.items() if key.scope == scope.name}
        found = chain.from_iterable(
            self._by_place.get(place, {}).values() for place in (scope.name, *sorted(shelves))
        )
        return [stored for stored in found if stored.scope == scope]

    def counts(self) -> dict[str, int]:
        """Returns the number of memories of each scope."""
        return {name: count for name, count in self._counts.items() if count}


def _words_key(place: str, memory: Memory) -> _WordsKey:
    """Trust is part of the key: an unvouched statement neither gains trust from a vouched one nor
    removes it. So is whether the person spoke, or an agent on that person's behalf."""
    origin = memory.provenance
    speaker, by_agent = origin.person or origin.who, origin.source is Source.AGENT
    return place, speaker, same_words(memory.judgment), origin.trusted, by_agent


def _at_its_offset(moment: datetime) -> datetime:
    """Returns the moment with a fixed offset: recall reads hundreds of times, and the machine's
    zone asks the system each time."""
    if isinstance(moment.tzinfo, timezone):
        return moment
    offset = moment.utcoffset()
    return moment if offset is None else moment.replace(tzinfo=_zone(offset), fold=0)


@lru_cache(maxsize=256)
def _zone(offset: timedelta) -> timezone:
    return timezone(offset)
