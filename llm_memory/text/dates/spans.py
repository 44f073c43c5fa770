"""TimeSpan, weeks, months: the calendar that time expressions are measured by. Dates only."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

DAYS_A_WEEK = 7
MONTHS_A_YEAR = 12
_LEAP_YEARS_APART = 8
_SATURDAY, _SUNDAY = 5, 6


class Precision(StrEnum):
    """How exact the words are: what a match of the dates is worth."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"
    SPAN = "span"


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
        words: ``text[first:last]``.
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
    prefer_past: bool

    @property
    def local_day(self) -> date:
        return self.said_at.date()

    def hours_away(self, hours: float) -> date:
        """The local day so many true hours from now: a clock change counts as the hour it is."""
        away = timedelta(hours=hours)
        if self.said_at.tzinfo is None:
            return (self.said_at + away).date()
        return (self.said_at.astimezone(UTC) + away).astimezone(self.said_at.tzinfo).date()

    def chosen(self, repeated: Iterable[TimeSpan]) -> TimeSpan | None:
        """The latest that has begun; when storing the nearest, of two as near the one ahead."""
        known = list(repeated)
        if self.prefer_past:
            begun = [days for days in known if days.start <= self.local_day]
            return max(begun, key=lambda days: days.start, default=None)
        return min(known, key=self._distance, default=None)

    def _distance(self, days: TimeSpan) -> tuple[int, bool]:
        if days.start <= self.local_day <= days.end:
            return 0, False
        behind = days.end < self.local_day
        return abs(((days.end if behind else days.start) - self.local_day).days), behind


def day(moment: Moment, away: int, *, relative: bool = True) -> TimeSpan:
    """The day so many days from today."""
    at = moment.local_day + timedelta(days=away)
    return TimeSpan(at, at, Precision.DAY, relative)


def exactly(year: int, month: int, day_of_month: int, *, relative: bool = False) -> TimeSpan:
    """One date. Raises ValueError for one that no calendar has."""
    at = date(year, month, day_of_month)
    return TimeSpan(at, at, Precision.DAY, relative)


def span(moment: Moment, first: int, last: int, *, vague: bool = False) -> TimeSpan:
    """From so many to so many days from today, both included."""
    start, end = (moment.local_day + timedelta(days=away) for away in (first, last))
    return TimeSpan(start, end, Precision.SPAN, relative=True, vague=vague)


def around(moment: Moment, away: int) -> TimeSpan:
    """The week whose middle lies so many days from today."""
    middle = moment.local_day + timedelta(days=away)
    half = timedelta(days=DAYS_A_WEEK // 2)
    return TimeSpan(middle - half, middle + half, Precision.WEEK, relative=True, around=True)


def monday(moment: Moment, weeks: int = 0) -> date:
    """The Monday of the calendar's week so many weeks from this one."""
    return moment.local_day + timedelta(days=DAYS_A_WEEK * weeks - moment.local_day.weekday())


def week(moment: Moment, weeks: int) -> TimeSpan:
    """Monday to Sunday."""
    first = monday(moment, weeks)
    return TimeSpan(first, first + timedelta(days=_SUNDAY), Precision.WEEK, relative=True)


def weekday(moment: Moment, weeks: int, number: int) -> TimeSpan:
    """A day of the calendar's week, 0 for Monday."""
    at = monday(moment, weeks) + timedelta(days=number)
    return TimeSpan(at, at, Precision.DAY, relative=True)


def weekend(moment: Moment, weeks: int, *, relative: bool = True) -> TimeSpan:
    """Saturday and Sunday."""
    first = monday(moment, weeks) + timedelta(days=_SATURDAY)
    return TimeSpan(first, first + timedelta(days=1), Precision.SPAN, relative)


def bare_weekday(moment: Moment, number: int) -> TimeSpan:
    """A weekday alone: the last one of that name, or the coming one; today counts as either."""
    away = (number - moment.local_day.weekday()) % DAYS_A_WEEK
    if moment.prefer_past and away:
        away -= DAYS_A_WEEK
    return day(moment, away, relative=False)


def bare_weekend(moment: Moment) -> TimeSpan | None:
    if not moment.prefer_past:
        return weekend(moment, 0, relative=False)
    return moment.chosen(weekend(moment, weeks, relative=False) for weeks in (-1, 0))


def months_from(year: int, month: int, months: int) -> tuple[int, int]:
    """Year and month, so many months on."""
    years, index = divmod(month - 1 + months, MONTHS_A_YEAR)
    return year + years, index + 1


def month_from(moment: Moment, months: int) -> tuple[int, int]:
    return months_from(moment.local_day.year, moment.local_day.month, months)


def month(year: int, number: int, *, relative: bool = False) -> TimeSpan:
    last = monthrange(year, number)[1]
    return TimeSpan(date(year, number, 1), date(year, number, last), Precision.MONTH, relative)


def months(year: int, first: int, count: int, *, relative: bool = False) -> TimeSpan:
    """``count`` months from the first on; may reach into the next year."""
    end = month(*months_from(year, first, count - 1)).end
    return TimeSpan(date(year, first, 1), end, Precision.SPAN, relative)


def month_part(year: int, number: int, third: int, *, relative: bool = False) -> TimeSpan:
    """The first ten days of a month (0), the second ten (1) or the rest (2)."""
    end = month(year, number).end if third == 2 else date(year, number, 10 * third + 10)
    return TimeSpan(date(year, number, 10 * third + 1), end, Precision.SPAN, relative)


def year(number: int, *, relative: bool = False) -> TimeSpan:
    return TimeSpan(date(number, 1, 1), date(number, 12, 31), Precision.YEAR, relative)


def bare_date(moment: Moment, number: int, day_of_month: int) -> TimeSpan | None:
    """A month and a day without a year; 29 February only in leap years."""
    around_now = range(
        moment.local_day.year - _LEAP_YEARS_APART, moment.local_day.year + _LEAP_YEARS_APART + 1
    )
    return moment.chosen(
        exactly(own, number, day_of_month)
        for own in around_now
        if day_of_month <= monthrange(own, number)[1]
    )


def bare_month(moment: Moment, number: int, third: int | None = None) -> TimeSpan | None:
    years = (moment.local_day.year + away for away in (-1, 0, 1))
    if third is None:
        return moment.chosen(month(own, number) for own in years)
    return moment.chosen(month_part(own, number, third) for own in years)


def bare_day(moment: Moment, day_of_month: int) -> TimeSpan | None:
    """A day of the month alone."""
    near = (month_from(moment, away) for away in (-2, -1, 0, 1, 2))
    return moment.chosen(
        exactly(own, number, day_of_month)
        for own, number in near
        if day_of_month <= monthrange(own, number)[1]
    )


def season(year_number: int, first_month: int, *, relative: bool = False) -> TimeSpan:
    """Three months; winter ends in the next year."""
    return months(year_number, first_month, 3, relative=relative)


def bare_month_part(moment: Moment, third: int) -> TimeSpan | None:
    near = (month_from(moment, away) for away in (-1, 0, 1))
    return moment.chosen(month_part(*own, third) for own in near)


def bare_months(moment: Moment, first: int, count: int) -> TimeSpan | None:
    years = (moment.local_day.year + away for away in (-1, 0, 1))
    return moment.chosen(months(own, first, count) for own in years)


def of_its_name(moment: Moment, away: int, in_year: Callable[[int], TimeSpan]) -> TimeSpan | None:
    """Of what comes once a year the latest that is over (-1), the one we are in or else this
    year's (0), or the first still to begin (1)."""
    today = moment.local_day
    known = [in_year(today.year + years) for years in (-2, -1, 0, 1, 2)]
    if away < 0:
        return [one for one in known if one.end < today][-1]
    if away > 0:
        return next(one for one in known if one.start > today)
    return next((one for one in known if one.start <= today <= one.end), known[2])
