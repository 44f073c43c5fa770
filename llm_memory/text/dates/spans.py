"""TimeSpan, weeks, months: the calendar that time expressions are measured by. Dates only."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import Enum, StrEnum, auto
from functools import partial
from typing import Final

_HALF_WEEK: Final = 3


class Precision(StrEnum):
    """How exact the words are: what a match of the dates is worth."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"
    SPAN = "span"


class Towards(Enum):
    """Where what comes again and again is looked for: a date without a year, a weekday."""

    TOLD = auto()
    """The nearest date, of two as near the one ahead; the coming weekday."""
    NEAR = auto()
    """The nearest, a weekday too."""
    BACK = auto()
    """The latest that has begun."""
    AHEAD = auto()
    """The first that is not over."""


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """TimeSpan that words of a text speak of.

    Attributes:
        start: The first day.
        end: The last day, not before ``start``.
        relative: The words themselves say how far from now (``昨天``, ``last week``); not so a
            date without a year or a weekday alone, which may come again and again.
        vague: How far is a guess of ours (``最近``, ``a few days ago``).
        around: The middle of the span is meant, the rest is leeway (``两周后``).
        words: ``text[first:last]``, of a date beside its weekday without that.
    """

    start: date
    end: date
    precision: Precision
    relative: bool = False
    vague: bool = False
    around: bool = False
    words: str = ""
    first: int = 0
    last: int = 0


@dataclass(frozen=True, slots=True)
class Moment:
    """When the words were said, and where a date that comes again and again is looked for."""

    said_at: datetime
    towards: Towards

    @property
    def local_day(self) -> date:
        return self.said_at.date()

    def hours_away(self, hours: float) -> date:
        """The local day so many true hours from now: a clock change counts as the hour it is."""
        at = self.said_at.astimezone(UTC) + timedelta(hours=hours)
        return at.astimezone(self.said_at.tzinfo).date()

    def chosen(self, repeated: Iterable[Callable[[], TimeSpan]]) -> TimeSpan | None:
        """Left out are those that no calendar has: 29 February of most years."""
        known = []
        for make in repeated:
            with suppress(ValueError):
                known.append(make())
        if self.towards is Towards.BACK:
            known = [days for days in known if days.start <= self.local_day]
        elif self.towards is Towards.AHEAD:
            known = [days for days in known if days.end >= self.local_day]
        return min(known, key=self._distance, default=None)

    def _distance(self, days: TimeSpan) -> tuple[int, bool]:
        ahead, behind = (days.start - self.local_day).days, (self.local_day - days.end).days
        return max(ahead, behind, 0), behind > 0


def span(
    moment: Moment,
    first: int,
    last: int,
    precision: Precision = Precision.SPAN,
    *,
    relative: bool = True,
    vague: bool = False,
) -> TimeSpan:
    """From so many to so many days from today, both included."""
    start, end = (moment.local_day + timedelta(days=away) for away in (first, last))
    return TimeSpan(start, end, precision, relative, vague)


def day(moment: Moment, away: int, *, relative: bool = True) -> TimeSpan:
    """The day so many days from today."""
    return span(moment, away, away, Precision.DAY, relative=relative)


def around(moment: Moment, away: int) -> TimeSpan:
    """The week whose middle lies so many days from today."""
    return replace(span(moment, away - 3, away + 3, Precision.WEEK), around=True)


def week(moment: Moment, weeks: int) -> TimeSpan:
    """Monday to Sunday of the calendar's week so many weeks from this one."""
    monday = _monday(moment, weeks)
    return span(moment, monday, monday + 6, Precision.WEEK)


def weekday(moment: Moment, weeks: int, number: int) -> TimeSpan:
    """A day of the calendar's week, 0 for Monday."""
    return day(moment, _monday(moment, weeks) + number)


def weekend(moment: Moment, weeks: int, *, relative: bool = True) -> TimeSpan:
    """Saturday and Sunday."""
    monday = _monday(moment, weeks)
    return span(moment, monday + 5, monday + 6, relative=relative)


def bare_weekday(moment: Moment, number: int, *, over: bool = False) -> TimeSpan:
    """A weekday alone; today counts, unless the hour that was named is ``over``."""
    away = (number - moment.local_day.weekday()) % 7
    last = moment.towards is Towards.BACK or (moment.towards is Towards.NEAR and away > _HALF_WEEK)
    today = 7 if over and moment.towards is not Towards.BACK else 0
    return day(moment, (away - 7 if last else away) if away else today, relative=False)


def bare_weekend(moment: Moment) -> TimeSpan | None:
    weeks = (0,) if moment.towards is Towards.TOLD else (-1, 0)
    return moment.chosen(partial(weekend, moment, away, relative=False) for away in weeks)


def _monday(moment: Moment, weeks: int) -> int:
    return 7 * weeks - moment.local_day.weekday()


def exactly(year: int, month: int, day_of_month: int, *, relative: bool = False) -> TimeSpan:
    """One date. Raises ValueError for one that no calendar has."""
    at = date(year, month, day_of_month)
    return TimeSpan(at, at, Precision.DAY, relative)


def month_from(at: date, months: int) -> tuple[int, int]:
    """Year and month, so many months on."""
    years, index = divmod(at.month - 1 + months, 12)
    return at.year + years, index + 1


def month(year: int, number: int, *, relative: bool = False) -> TimeSpan:
    last = monthrange(year, number)[1]
    return TimeSpan(date(year, number, 1), date(year, number, last), Precision.MONTH, relative)


def months(year: int, first: int, count: int, *, relative: bool = False) -> TimeSpan:
    """``count`` months from the first on; may reach into the next year."""
    start = date(year, first, 1)
    end = month(*month_from(start, count - 1)).end
    return TimeSpan(start, end, Precision.SPAN, relative)


def month_part(year: int, number: int, third: int, *, relative: bool = False) -> TimeSpan:
    """The first ten days of a month (0), the second ten (1) or the rest (2)."""
    end = month(year, number).end if third == 2 else date(year, number, 10 * third + 10)
    return TimeSpan(date(year, number, 10 * third + 1), end, Precision.SPAN, relative)


def year(number: int, *, relative: bool = False) -> TimeSpan:
    return TimeSpan(date(number, 1, 1), date(number, 12, 31), Precision.YEAR, relative)


def of_its_name(moment: Moment, away: int, in_year: Callable[[int], TimeSpan]) -> TimeSpan | None:
    """Of what comes once a year the latest that is over (-1), the one we are in or else this
    year's (0), or the first still to begin (1)."""
    today = moment.local_day
    known = [in_year(today.year + years) for years in (-2, -1, 0, 1, 2)]
    over, ahead = sum(one.end < today for one in known), sum(one.start > today for one in known)
    now = over if over + ahead < len(known) else 2
    return known[over - 1 if away < 0 else -ahead if away else now]
