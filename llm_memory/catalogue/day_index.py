"""Memories by place and day, so that a day is found without looking through all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta, tzinfo
from itertools import islice

from ..models.data_models import StoredMemory
from ..models.passages import place_name
from .rules.event_day import noted_day
from .rules.timeline import MAX_ZONE_DIFFERENCE, has_day, local_day, written_day


class DayIndex:
    """Keyed by the day on which each entry was said, and by the day of what it tells if that is
    noted; queried by days of the asker's zone."""

    def __init__(self) -> None:
        self._by_place: dict[str, dict[date, dict[str, StoredMemory]]] = {}

    def clear(self) -> None:
        """Remove everything."""
        self._by_place.clear()

    def put(self, stored: StoredMemory) -> None:
        """Add a memory that is not indexed yet, if it has a day."""
        days = self._by_place.setdefault(place_name(stored), {})
        for day in _days_of(stored):
            days.setdefault(day, {})[stored.memory.memory_id] = stored

    def remove(self, stored: StoredMemory) -> None:
        """Remove a memory that is indexed."""
        days = self._by_place.get(place_name(stored), {})
        for day in _days_of(stored):
            of_day = days.get(day, {})
            of_day.pop(stored.memory.memory_id, None)
            if not of_day:
                days.pop(day, None)

    def newest_first(
        self, names: Iterable[str], first: date, last: date, zone: tzinfo | None, limit: int
    ) -> Iterator[StoredMemory]:
        """Yields what was said on the days from ``first`` to ``last`` in ``zone``: at most
        ``limit`` memories of each place, place by place, the newest days first and the newest
        memories of a day first."""
        for name in names:
            said = (
                stored
                for day, stored in self._of_place(name, first, last)
                if has_day(stored)
                and day == written_day(stored)
                and first <= local_day(stored, zone) <= last
            )
            yield from islice(said, limit)

    def telling_of(
        self, names: Iterable[str], first: date, last: date, limit: int
    ) -> Iterator[StoredMemory]:
        """Yields the memories whose noted day is from ``first`` to ``last``, in the same order."""
        for name in names:
            told = (
                stored
                for day, stored in self._of_place(name, first, last)
                if day == noted_day(stored.memory) and first <= day <= last
            )
            yield from islice(told, limit)

    def _of_place(self, name: str, first: date, last: date) -> Iterator[tuple[date, StoredMemory]]:
        days = self._by_place.get(name, {})
        for day in sorted(_between(days, first, last), reverse=True):
            for stored in reversed(days[day].values()):
                yield day, stored


def _days_of(stored: StoredMemory) -> set[date]:
    noted = noted_day(stored.memory)
    said = {written_day(stored)} if has_day(stored) else set()
    return said if noted is None else {*said, noted}


def _between(days: Iterable[date], first: date, last: date) -> list[date]:
    """Returns the stored days that may hold matches: zones differ in their dates."""
    reach: timedelta = MAX_ZONE_DIFFERENCE
    # Compared by ordinals: the calendar's first and last days have no neighbours on one side.
    low, high = first.toordinal() - reach.days, last.toordinal() + reach.days
    return [day for day in days if low <= day.toordinal() <= high]
