"""What the index does not know yet."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice

from ..catalogue.catalogue import key_of
from ..models.passages import Key, Passage

type Entry = tuple[Key, Passage | None]
"""A memory or piece of a note as it is now, or None where it is gone."""


class IndexQueue:
    """Passages to write and keys to delete, the oldest first, one entry a key.

    ``changed`` is set by whatever is put on the list; who works on it clears it.
    """

    def __init__(self) -> None:
        self._entries: dict[Key, Passage | None] = {}
        self._parked: dict[Key, Passage] = {}
        self._removals = 0
        self._lags: list[Lag] = []
        self.changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, stored: Passage) -> None:
        """It is new or was changed."""
        self._append(key_of(stored), stored)

    def remove(self, stored: Passage) -> None:
        """It is gone."""
        self._append(key_of(stored), None)

    def _append(self, key: Key, stored: Passage | None) -> None:
        self._parked.pop(key, None)
        self._take_off(key)
        self._put_on(key, stored)
        self.changed.set()

    def _put_on(self, key: Key, stored: Passage | None) -> None:
        """At the end; it is not on the list."""
        self._entries[key] = stored
        self._removals += stored is None

    def _take_off(self, key: Key) -> None:
        """If it is on the list."""
        if key in self._entries:
            stored = self._entries.pop(key)
            self._removals -= stored is None
            for lag in self._lags:
                lag.left[key] = stored

    def clear(self) -> None:
        """Nothing is to be written or deleted any more."""
        for key in list(self._entries):
            self._take_off(key)
        self._parked.clear()

    def suggest(self, key: Key, stored: Passage | None) -> None:
        """The index differs from the vault here; what is on the list already is newer."""
        if key in self._parked and self._parked[key] is stored:
            return
        self._parked.pop(key, None)  # as it was; it is another one now
        if key not in self._entries:
            self._put_on(key, stored)
        self.changed.set()

    @property
    def living(self) -> tuple[Passage, ...]:
        """What the index lacks, the newest last."""
        listed = (stored for stored in self._entries.values() if stored is not None)
        return (*self._parked.values(), *listed)

    @property
    def removals(self) -> int:
        """How many the index has to delete."""
        return self._removals

    @property
    def lacking(self) -> int:
        """How many the index lacks."""
        return len(self._entries) - self._removals + len(self._parked)

    @contextmanager
    def lag(self) -> Iterator[Lag]:
        """Follows what the index may not know while it is asked, as long as the block runs."""
        lag = Lag(self._entries, self._parked)
        self._lags.append(lag)
        try:
            yield lag
        finally:
            self._lags.remove(lag)

    def newest(self, count: int) -> list[Passage]:
        """Of the ``count`` newest entries those that live, the newest last."""
        some = islice(chain(reversed(self._entries.values()), self._parked.values()), count)
        return [stored for stored in some if stored is not None][::-1]

    def first(self, count: int) -> list[Entry]:
        """The oldest entries; they stay on the list."""
        return list(islice(self._entries.items(), count))

    def mark_written(self, entries: list[Entry]) -> None:
        """Off the list, unless it changed again meanwhile."""
        for key, stored in entries:
            if key in self._entries and self._entries[key] is stored:
                self._take_off(key)

    @property
    def parked(self) -> int:
        """How many memories the embedder cannot take."""
        return len(self._parked)

    def park(self, entry: Entry) -> None:
        """Off the list, but still not in the index: it stays so until it changes, or ``unpark``."""
        key, stored = entry
        if stored is not None and self._entries.get(key) is stored:
            self._take_off(key)
            self._parked[key] = stored

    def unpark(self) -> None:
        """Try all of them again."""
        parked = self._parked.copy()
        self._parked.clear()
        for key, stored in parked.items():
            if key not in self._entries:
                self._put_on(key, stored)

    def postpone(self, entry: Entry) -> None:
        """To the end of the list, unless it changed meanwhile."""
        key, stored = entry
        if key in self._entries and self._entries[key] is stored:
            self._entries[key] = self._entries.pop(key)


class Lag:
    """What the index may not have known at some time since this began.

    It notes what leaves the list instead of keeping a copy of it: a hundred thousand may be waiting
    while a question is answered, and copying them would hold up the event loop.
    """

    def __init__(
        self, entries: Mapping[Key, Passage | None], parked: Mapping[Key, Passage]
    ) -> None:
        self._entries = entries
        self._parked = parked
        self.left: dict[Key, Passage | None] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._entries or key in self._parked or key in self.left

    def living(self) -> list[Passage]:
        """Those that live, in their newest state. A copy, as long as the list."""
        newest = {**self.left, **self._parked, **self._entries}
        return [stored for stored in newest.values() if stored is not None]
