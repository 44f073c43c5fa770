"""The day of what a memory tells, and whether two memories tell of one event. Pure.

A day that the words name is the event's own. Where they name none, the reader of the turn may have
found it: it stands in the entry as a field, ``日期：2026-06-12``, that a person may write, too.
Else the event is of about the day on which it was said. ``Told`` has all days that a memory names.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Final

from ...models.data_models import NO_TIME, Memory, MemoryKind, is_plausible
from ...text.dates.expressions import Precision, TimeSpan, find_times, is_date, is_weekly
from ...text.dates.words import FEASTS, WEEKDAYS, chinese, english
from ...text.numerals import number
from ...text.scripts import simplified

_NAME: Final = "日期"
_FIELD: Final = re.compile(
    rf"{_NAME}\s*[：:]\s*([0-9]{{4}})\s*[-/.年]\s*([0-9]{{1,2}})\s*[-/.月]\s*([0-9]{{1,2}})\s*日?"
)
_DIGITS: Final = "([0-9]{4}-[0-9]{2}(?:-[0-9]{2})?)"
_ISO: Final = re.compile(rf"(?<![0-9]){_DIGITS}(?:(?:～| to |\.\.){_DIGITS})?(?![0-9-])")
_WEEKLY: Final = re.compile(
    r"(?:周|星期|礼拜)([一二三四五六日天])(?![0-9]|\s?[（(][0-9]{4})"
    r"|\b((?:mon|tues|wednes|thurs|fri|satur|sun)day)s?\b(?!\s?[(][0-9]{4})",
    re.IGNORECASE,
)
_DAY_NAMES: Final = (
    r"(?:周|星期|礼拜)[一二三四五六日天末](?:[和跟与及、](?:周|星期|礼拜)?[一二三四五六日天末])*",
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?)",
)
_EXCEPT: Final = re.compile(
    rf"除了?{_DAY_NAMES[0]}(?!的|[^。；;\n]*[还也])|{_DAY_NAMES[0]}除外|"
    rf"\b(?:except|excluding|apart from|but not|but)\s(?:(?:for|on|the)\s)*{_DAY_NAMES[1]}"
    rf"(?:(?:,\s|\s)?(?:and|or|&)?\s?{_DAY_NAMES[1]})*",
    re.IGNORECASE,
)
"""Days on which it is not. 除了周五，周六也去 tells of both."""
_MONTHLY: Final = re.compile(
    r"每个?月的?\s?([0-9一二三十]{1,3})[号日]"
    r"|([0-9]{1,2})(?:st|nd|rd|th)\s(?:of\s)?(?:every|each)\smonth",
    re.IGNORECASE,
)
_EVERY_YEAR: Final = re.compile("每年的?")
_DATE: Final = re.compile(
    rf"[0-9一二三四五六七八九十]\s?[月日号]|{chinese(FEASTS)}|[0-9](?:st|nd|rd|th)\b|[0-9]/[0-9]|"
    rf"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|{english(FEASTS)})",
    re.IGNORECASE,
)
"""What a text has that names a date without a year."""
LONGEST: Final = 62
"""Days. What tells of a longer time, of a year or a season, tells of none of its days."""
SAME_EVENT: Final = timedelta(days=3)
"""A repetition without a day of its own tells of the same event so long."""


def noted_day(memory: Memory) -> date | None:
    """Returns the day in the entry's field, None without one."""
    for piece in memory.extra:
        if (found := _FIELD.fullmatch(piece)) is not None:
            try:
                day = date(*map(int, found.groups()))
            except ValueError:  # 2026-02-31
                continue
            return day if is_plausible(day) else None
    return None


@dataclass(frozen=True, slots=True)
class Told:
    """What a memory names: ``days``, each from a first to a last one, those of them that are
    ``written`` in digits, and what comes again: ``weekdays`` from 0 for Monday, and ``yearly``
    months with their days, of every month 0."""

    written: tuple[tuple[date, date], ...] = ()
    days: tuple[tuple[date, date], ...] = ()
    weekdays: frozenset[int] = frozenset()
    yearly: frozenset[tuple[int, int]] = frozenset()

    def lying(self, span: TimeSpan) -> tuple[int, date] | None:
        """Returns 0 where it tells of one day of the span, 1 of one that comes again, 2 of a time
        that meets the span, and the first such day; None where it tells of none of these."""
        again = self.weekdays | self.yearly
        found = [
            (2 if first < last else 0, max(first, span.start))
            for first, last in self.days
            if first <= span.end and span.start <= last
        ]
        for day in days_of(span.start, span.end):
            if not again.isdisjoint(keys_of(day)):
                found.append((1, day))
                break
        return min(found, default=None)


def days_of(first: date, last: date) -> Sequence[date]:
    """Returns the days from one to another, none of a time longer than ``LONGEST``."""
    count = (last - first).days + 1
    return [first + timedelta(days=n) for n in range(count)] if count <= LONGEST else ()


def keys_of(day: date) -> tuple[int | tuple[int, int], ...]:
    """Returns as what a day comes again."""
    return day.weekday(), (day.month, day.day), (0, day.day)


def told(memory: Memory) -> Told:
    """Returns the days that the words or the field name."""
    once = memory.kind in (MemoryKind.EVENT, MemoryKind.TASK)
    said_at = None if memory.undated else memory.created_at
    return _told(memory.judgment, said_at, once, noted_day(memory))


@lru_cache(maxsize=4096)
def _told(text: str, said_at: datetime | None, once: bool, noted: date | None) -> Told:
    text = _EXCEPT.sub("", simplified(text))
    written = tuple(_written(text))
    days = [*written, *([] if noted is None else [(noted, noted)])]
    again = list(_WEEKLY.finditer(text)) if not once or "每" in text or "every" in text else []
    text = _EVERY_YEAR.sub(lambda found: " " * len(found[0]), text)
    yearly = {(0, number(one[1] or one[2]) or 0) for one in _MONTHLY.finditer(text)}
    if said_at is not None and (again or _DATE.search(text)):
        for span in find_times(text, said_at):
            if is_date(span) and not is_weekly(text[span.first : span.last]):
                # A weekday beside a date is that day alone.
                again = [one for one in again if not span.first <= one.start() < span.last]
            if span.relative or span.vague or span.precision is Precision.YEAR:
                continue
            days.append((span.start, span.end))
            if not once and span.precision is Precision.DAY and _DATE.search(span.words):
                yearly.add((span.start.month, span.start.day))
    weekly = frozenset(WEEKDAYS[(one[1] or one[2]).lower()] for one in again)
    return Told(written, tuple(days), weekly, frozenset(yearly))


def _written(text: str) -> Iterator[tuple[date, date]]:
    """Yields the ends of what is written in digits."""
    for first, last in _ISO.findall(text):
        try:
            start, end = _ends(first)[0], _ends(last or first)[1]
        except ValueError:  # 2026-02-31
            continue
        if start <= end:
            yield start, end


def _ends(written: str) -> tuple[date, date]:
    if len(written) > len("2026-12"):
        return (day := date.fromisoformat(written)), day
    first = date.fromisoformat(f"{written}-01")
    return first, first.replace(day=monthrange(first.year, first.month)[1])


def with_day(memory: Memory, day: date) -> Memory:
    """Returns the entry with the field."""
    return replace(memory, extra=(*memory.extra, f"{_NAME}：{day.isoformat()}"))


def told_day(memory: Memory) -> date:
    """Returns the day of what a memory tells, or else when it was said."""
    return noted_day(memory) or memory.created_at


def names_day(text: str, said_at: datetime) -> bool:
    """Returns whether a text, said at that local time, names the day of what it tells."""
    return _named(text, said_at) is not None


def has_day(memory: Memory) -> bool:
    """Returns whether the words or the field name the day of what a memory tells."""
    return _own_days(memory) is not None


def is_another_event(one: Memory, other: Memory) -> bool:
    """Returns whether two memories, which may say the same, tell of an event on different days."""
    if MemoryKind.EVENT not in (one.kind, other.kind):
        return False
    mine, yours = _own_days(one), _own_days(other)
    near = timedelta() if mine and yours else SAME_EVENT
    mine, yours = mine or _said(one), yours or _said(other)
    if mine is None or yours is None:
        return False
    return mine[0] - yours[1] > near or yours[0] - mine[1] > near


def _own_days(memory: Memory) -> tuple[date, date] | None:
    named = _named(memory.judgment, memory.created_at)
    noted = noted_day(memory)
    return named or (None if noted is None else (noted, noted))


def _named(text: str, said_at: datetime) -> tuple[date, date] | None:
    """Returns the first and the last of the days that a text names."""
    if said_at == NO_TIME:
        return None
    spans = [
        span
        for span in find_times(text, said_at)
        if not span.vague and span.precision is not Precision.YEAR
    ]
    if not spans:
        return None
    return min(span.start for span in spans), max(span.end for span in spans)


def _said(memory: Memory) -> tuple[date, date] | None:
    day = memory.created_at.date()
    return None if memory.undated else (day, day)
