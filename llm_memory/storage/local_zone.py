"""The machine's own time zone, as the system keeps it: daylight saving included."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, tzinfo
from typing import override


class MachineZone(tzinfo):
    """Asks the system for the offset at each moment, so that a day before the clocks were changed
    is the day that it was. ``datetime.astimezone`` without a zone keeps today's offset for good.

    It needs no name of the zone, which Windows has others for, and no table of zones.
    """

    @override
    def utcoffset(self, at: datetime | None) -> timedelta:
        """From the wall clock to the offset; of an hour that comes twice ``fold`` says which."""
        if at is None:
            return self._standard()
        naive = at.replace(tzinfo=None)
        try:
            return naive - datetime.fromtimestamp(naive.timestamp(), UTC).replace(tzinfo=None)
        except (OverflowError, OSError, ValueError):  # years that the system cannot count
            return self._standard()

    @override
    def dst(self, at: datetime | None) -> timedelta:
        """How much of the offset is daylight saving."""
        return self.utcoffset(at) - self._standard()

    @override
    def tzname(self, at: datetime | None) -> str:
        """The system's name for the offset."""
        return time.tzname[bool(self.dst(at))]

    @override
    def fromutc(self, at: datetime) -> datetime:
        """From UTC to the wall clock."""
        moment = at.replace(tzinfo=UTC)
        try:
            local = datetime.fromtimestamp(moment.timestamp())  # noqa: DTZ006  (the system's zone)
        except (OverflowError, OSError, ValueError):
            return (moment.replace(tzinfo=None) + self._standard()).replace(tzinfo=self)
        # A timestamp is rounded to microseconds: those of the moment are exact.
        return local.replace(microsecond=at.microsecond, tzinfo=self)

    @staticmethod
    def _standard() -> timedelta:
        return timedelta(seconds=-time.timezone)

    def __repr__(self) -> str:
        return "MachineZone()"


MACHINE_ZONE = MachineZone()
"""Two times of one zone object are compared by the wall clock; so there is one."""
