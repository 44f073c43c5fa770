"""The machine's own time zone, as the system keeps it: daylight saving included."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, tzinfo
from typing import override


class MachineZone(tzinfo):
    """Asks the system for the offset at each moment, so that a day before the clocks were changed
    is the day that it was. ``datetime.astimezone`` without a zone keeps today's offset for good.

    It needs no name of the zone: in a container that is often another one than the clock's.
    """

    @override
    def utcoffset(self, at: datetime | None) -> timedelta:
        """From the wall clock to the offset; of an hour that comes twice ``fold`` says which."""
        naive = (at or datetime.now()).replace(tzinfo=None)  # noqa: DTZ005  (the system's zone)
        try:
            return naive - datetime.fromtimestamp(naive.timestamp(), UTC).replace(tzinfo=None)
        except (OverflowError, OSError, ValueError):  # years that the system cannot count
            return timedelta(seconds=-time.timezone)

    @override
    def dst(self, at: datetime | None) -> None:
        """Not asked of the system."""

    @override
    def tzname(self, at: datetime | None) -> None:
        """Not asked of the system."""

    @override
    def fromutc(self, at: datetime) -> datetime:
        """From UTC to the wall clock."""
        try:
            local = datetime.fromtimestamp(at.replace(tzinfo=UTC).timestamp())  # noqa: DTZ006
        except (OverflowError, OSError, ValueError):
            return at - timedelta(seconds=time.timezone)
        # A timestamp is rounded to microseconds: those of the moment are exact.
        return local.replace(microsecond=at.microsecond, tzinfo=self)


MACHINE_ZONE = MachineZone()
"""Two times of one zone object are compared by the wall clock; so there is one."""
