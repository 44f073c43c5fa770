"""Memories by place and day, so that a day is found without looking through all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta, tzinfo
from itertools import islice

from ..models.data_models import StoredMemory
from ..models.passages import place_name
from .rules.timeline import MAX_ZONE_DIFFERENCE, has_day, local_day, written_day


class DayIndex:
    """Keyed by the day that each entry shows; queried by days of the asker's zone."""

    def __init__(self) -> None:
        self._by_place: dict[str, dict[date, dict[str, StoredMemory]]] = {}

    def clear(self) -> None:
        """Remove everything."""
        self._by_place.clear()

    def put(self, stored: StoredMemory) -> None:
        """Add a memory that is not indexed yet, if it has a day."""
        if not has_day(stored):
            return
        days = self._by_place.setdefault(place_name(stored), {})
        days.setdefault(written_day(stored), {})[stored.memory.memory_id] = stored

    def remove(self, stored: StoredMemory) -> None:
        """Remove a memory that is indexed."""
        days = self._by_place.get(place_name(stored), {})
        day = written_day(stored)
        of_day = days.get(day, {})
        of_day.pop(stored.memory.memory_id, None)
        if not of_day:
            days.pop(day, None)

    def newest_first(
        self, names: Iterable[str], first: date, last: date, zone: tzinfo | None, limit: int
    ) -> Iterator[StoredMemory]:
        """Yields the memories of the days from ``first`` to ``last`` in ``zone``: at most ``limit``
        of each place, place by place, the newest days first and the newest memories of a day
        first."""
        for name in names:
            yield from islice(self._of_place(name, first, last, zone), limit)

    def _of_place(
        self, name: str, first: date, last: date, zone: tzinfo | None
    ) -> Iterator[StoredMemory]:
        days = self._by_place.get(name, {})
        for shown in sorted(_between(days, first, last), reverse=True):
            for stored in reversed(days[shown].values()):
                if first <= local_day(stored, zone) <= last:
                    yield stored


def _between(days: Iterable[date], first: date, last: date) -> list[date]:
    """Returns the stored days that may hold matches: zones differ in their dates."""
    reach: timedelta = MAX_ZONE_DIFFERENCE
    # Compared by ordinals: the calendar's first and last days have no neighbours on one side.
    low, high = first.toordinal() - reach.days, last.toordinal() + reach.days
    return [day for day in days if low <= day.toordinal() <= high]
