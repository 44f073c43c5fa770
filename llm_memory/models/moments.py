"""Which moments are taken from files, people and models. Pure."""

from __future__ import annotations

from datetime import date, datetime, tzinfo
from typing import Final

_YEARS: Final = range(1900, 2200)


def is_plausible(day: date) -> bool:
    """Whether something can be of that day; days and moments of other years are not taken."""
    return day.year in _YEARS


def moment_in(text: str) -> datetime | None:
    """The plausible moment in ISO 8601 with its time zone, None for anything else."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None and is_plausible(moment) else None


def day_in(moment: datetime, zone: tzinfo | None) -> date:
    """The day of a moment in a zone; its own where the calendar ends."""
    try:
        return (moment if zone is None else moment.astimezone(zone)).date()
    except OverflowError:
        return moment.date()
