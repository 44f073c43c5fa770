"""Which days a text speaks of: Chinese and English words, and dates in digits. Pure.

Conventions, where languages and people disagree:

- A week begins on Monday. 上周三 is the Wednesday of the calendar's last week, "last Wednesday" the
  most recent one before today, "next Friday" the Friday of the calendar's next week. 上周末 and
  "last weekend" are the Saturday and Sunday of last week.
- A date without a year, a day of a month, a weekday, 月底: the nearest, of two as near the one
  ahead; in a question for what is to come the first that is not over, in one for what was the
  latest that has begun. When storing, a weekday is the coming one. They are not ``relative``:
  周一闭馆 may be every Monday, 生日5月2号 every year.
- "Two weeks ago" is the week around that day, "three months ago" the month of the calendar, "two
  years ago" the year. 月初 and "early May" are the first ten days, 月底 and "late May" the days
  from the 21st on.
- What comes again and again (每周三, every Monday, on Mondays) is no time, nor is a time of day.
- Seasons are the northern ones; winter begins in December of the year that is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import TypeGuard

from ..numerals import narrowed
from .meanings import meaning
from .spans import Moment, Precision, TimeSpan, Towards
from .words import TIMES

__all__ = ["Precision", "TimeSpan", "Towards", "days_named", "find_times", "towards"]

_SIGNS = {
    "digits:": re.compile("[0-9]{4}|[0-9][-/][0-9]"),
    "zh:": re.compile("[年月日号周末季星期拜天晚早晨夜儿前后近来久才刚改这过未旦节庆诞双五六]"),
    "en:": re.compile("[A-Za-z]{2}"),
}
"""What a text has where a pattern of the kind matches."""
_HABIT_WORDS = 12


def towards(query: str) -> Towards:
    """Where a question looks for a date that comes again and again."""
    narrow = narrowed(query)
    over, to_come = TIMES["over"].search(narrow), TIMES["to_come"].search(narrow)
    either = {(True, False): Towards.BACK, (False, True): Towards.AHEAD}
    return either.get((bool(over), bool(to_come)), Towards.NEAR)


def find_times(text: str, now: datetime, look: Towards = Towards.TOLD) -> tuple[TimeSpan, ...]:
    """The days that ``text`` speaks of, in its order, none overlapping another in the text.

    Args:
        text: Any text; what it says of times of day is left out.
        now: When it was said, as a local time: its own date counts, whatever its zone.
        look: Where it looks for a date that comes again and again; see the module.
    """
    moment = Moment(now, look)
    narrow = narrowed(text)
    spans: list[TimeSpan] = []
    end = 0
    for first, minus_last, days in sorted(_matches(narrow, moment), key=lambda found: found[:2]):
        if first < end:
            continue
        end = -minus_last
        if days is not None and not _habitual(narrow, first, days):
            found = replace(days, words=text[first:end], first=first, last=end)
            whole = _joined(narrow, spans[-1], found) if spans else None
            spans[-1 if whole else len(spans) :] = [whole or found]
    return tuple(spans)


def _joined(text: str, one: TimeSpan, other: TimeSpan) -> TimeSpan | None:
    """The date where the weekday beside it is that day: Friday 12 June; 6月12日，周五."""
    weekday, date = (one, other) if _is_weekday(one) else (other, one)
    if not _is_weekday(weekday) or _is_weekday(date) or not is_date(date):
        return None
    agrees = weekday.start.weekday() == date.start.weekday()
    between = one.last, other.first
    if TIMES["beside"].fullmatch(text, *between) or (
        agrees and TIMES["perhaps"].fullmatch(text, *between)
    ):
        return replace(date, first=one.first, last=other.last)
    return None


def is_date(span: TimeSpan | None) -> TypeGuard[TimeSpan]:
    """True for one day that is no word for how far from now."""
    return span is not None and not span.relative and span.precision is Precision.DAY


def is_weekly(words: str) -> bool:
    """True for a name of days that come every week: 周六, the weekend."""
    return TIMES["bare"].fullmatch(narrowed(words)) is not None


def _is_weekday(span: TimeSpan) -> bool:
    return is_date(span) and is_weekly(span.words)


def days_named(text: str, now: datetime, look: Towards = Towards.NEAR) -> tuple[TimeSpan, ...]:
    """The days that a text is to name: as ``find_times``, and ``2026-05-01..2026-05-07`` is all
    from one to the other. Empty where it names none, or the last before the first."""
    first, dots, last = text.partition("..")
    if not dots:
        return find_times(text, now, look)
    ends = find_times(first, now, look), find_times(last, now, look)
    if any(len(end) != 1 for end in ends) or ends[1][0].end < ends[0][0].start:
        return ()
    return (replace(ends[0][0], end=ends[1][0].end, words=text, first=0, last=len(text)),)


def _matches(text: str, moment: Moment) -> Iterator[tuple[int, int, TimeSpan | None]]:
    """First place, last place negated (the longest first), and the days, if any."""
    kinds = (kind for kind, sign in _SIGNS.items() if sign.search(text))
    for pattern in (one for kind in kinds for one in TIMES.starting(kind)):
        for match in pattern.finditer(text):
            first, last = match.span("said" if "said" in pattern.groupindex else 0)
            try:
                yield first, -last, meaning(match, moment)
            except (ValueError, OverflowError, LookupError, StopIteration):  # no such day
                yield first, -last, None


def _habitual(text: str, first: int, days: TimeSpan) -> bool:
    before = text[max(first - _HABIT_WORDS, 0) : first]
    return not days.relative and TIMES["habit"].search(before) is not None
