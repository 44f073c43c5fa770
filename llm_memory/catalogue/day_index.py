"""Memories by place and day, so that a day is found without looking through all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta, tzinfo
from itertools import chain, islice

from ..models.data_models import StoredMemory
from ..models.passages import place_name
from .rules.event_day import days_of, keys_of, told
from .rules.timeline import MAX_ZONE_DIFFERENCE, has_day, local_day, written_day

type _Day = date | int | tuple[int, int]
"""Of what is told also a weekday, or a month and its day."""


class DayIndex:
    """By the day on which each entry was said, and by the days of which it tells; queried by days
    of the asker's zone."""

    def __init__(self) -> None:
        self._said: dict[str, dict[date, dict[str, StoredMemory]]] = {}
        self._told: dict[str, dict[_Day, dict[str, StoredMemory]]] = {}

    def clear(self) -> None:
        """Remove everything."""
        self._said.clear()
        self._told.clear()

    def put(self, stored: StoredMemory) -> None:
        """Add a memory that is not indexed yet, if it has a day."""
        name, memory_id = place_name(stored), stored.memory.memory_id
        if has_day(stored):
            days = self._said.setdefault(name, {})
            days.setdefault(written_day(stored), {})[memory_id] = stored
        for day in _told_days(stored):
            self._told.setdefault(name, {}).setdefault(day, {})[memory_id] = stored

    def remove(self, stored: StoredMemory) -> None:
        """Remove a memory that is indexed."""
        name, memory_id = place_name(stored), stored.memory.memory_id
        if has_day(stored):
            _drop(self._said.get(name, {}), written_day(stored), memory_id)
        for day in _told_days(stored):
            _drop(self._told.get(name, {}), day, memory_id)

    def newest_first(
        self, names: Iterable[str], first: date, last: date, zone: tzinfo | None, limit: int
    ) -> Iterator[StoredMemory]:
        """Returns what was said on the days from ``first`` to ``last`` in ``zone``: at most
        ``limit`` memories of each place, place by place, the newest days first and the newest
        memories of a day first. Copied at once: a thread may go through it."""
        copied = [self._said_about(name, first, last) for name in names]
        return chain.from_iterable(
            islice((one for one in said if first <= local_day(one, zone) <= last), limit)
            for said in copied
        )

    def telling_of(
        self, names: Iterable[str], first: date, last: date, limit: int
    ) -> Iterator[StoredMemory]:
        """Yields the memories that tell of a day from ``first`` to ``last``, or of one that comes
        again then, some of them twice: the last dates first, in each the newest first."""
        some = days_of(first, last)
        again = {key for day in some for key in keys_of(day)}
        for name in names:
            known = self._told.get(name, {})
            dates = (day for day in known if isinstance(day, date) and first <= day <= last)
            days = (*sorted(dates, reverse=True), *(again & known.keys()))
            found = (stored for day in days for stored in reversed(known[day].values()))
            yield from islice(found, limit)

    def _said_about(self, name: str, first: date, last: date) -> list[StoredMemory]:
        days, found = self._said.get(name, {}), list[StoredMemory]()
        for day in sorted(_between(days, first, last), reverse=True):
            found += reversed(days[day].values())
        return found


def _told_days(stored: StoredMemory) -> set[_Day]:
    found = told(stored.memory)
    dates = {day for ends in found.days for day in days_of(*ends)}
    return {*dates, *found.weekdays, *found.yearly}


def _drop[D](days: dict[D, dict[str, StoredMemory]], day: D, memory_id: str) -> None:
    of_day = days.get(day, {})
    of_day.pop(memory_id, None)
    if not of_day:
        days.pop(day, None)


def _between(days: Iterable[date], first: date, last: date) -> list[date]:
    """Returns the stored days that may hold matches: zones differ in their dates."""
    reach: timedelta = MAX_ZONE_DIFFERENCE
    # Compared by ordinals: the calendar's first and last days have no neighbours on one side.
    low, high = first.toordinal() - reach.days, last.toordinal() + reach.days
    return [day for day in days if low <= day.toordinal() <= high]
