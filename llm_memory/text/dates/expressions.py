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

from ..lazy_pattern import lazy_pattern
from ..numerals import narrowed
from . import chinese, english
from .meanings import meaning
from .spans import Moment, Precision, TimeSpan, Towards

__all__ = ["Precision", "TimeSpan", "Towards", "days_named", "find_times", "towards"]

_ALONE = r"(?<![0-9A-Za-z/_.\-])(?P<year>(?:1[89]|2[01])[0-9]{2})"
_NUMERIC = (
    lazy_pattern(
        rf"{_ALONE}(?P<sign>[-/.])(?P<month>1[0-2]|0?[1-9])(?P=sign)"
        r"(?P<day>[12][0-9]|3[01]|0?[1-9])(?![0-9/_\-]|\.[0-9])"
    ),
    lazy_pattern(rf"{_ALONE}[-/](?P<month>1[0-2]|0[1-9])(?![0-9/_\-]|\.[0-9])"),
    lazy_pattern(
        r"(?<![0-9A-Za-z/_.\-])(?P<month>1[0-2]|0?[1-9])[-/](?P<day>[12][0-9]|3[01]|0?[1-9])"
        r"(?=\s?[（(，,]?\s?(?:周|星期|礼拜|(?-i:Mon|Tue|Wed|Thu|Fri|Sat|Sun))|有|那天)"
    ),
    lazy_pattern(
        r"\b(?:on|by|until|till|before|after|due|for|is|was|since|from|(?:mon|tues|wednes|thurs|fri"
        r"|satur|sun)day),?\s(?P<said>(?P<month>1[0-2]|0?[1-9])/(?P<day>[12][0-9]|3[01]|0?[1-9]))"
        r"(?![0-9/_%-]|\.[0-9]|\s(?:of|cups?|inch|miles?|full|done)\b)",
        re.IGNORECASE,
    ),
)
"""``2026-05-02``, ``2026/5/2``, ``2026.5.2``, ``2026-05``; ``12-04`` beside its weekday; ``on
12/11``."""
PATTERNS = (
    (re.compile("[0-9]{4}|[0-9][-/][0-9]"), _NUMERIC),
    (
        re.compile("[年月日号周末季星期拜天晚早晨夜儿前后近来久才刚改这过未旦节庆诞双五六]"),
        chinese.PATTERNS,
    ),
    (re.compile("[A-Za-z]{2}"), english.PATTERNS),
)
"""Patterns, and what a text has where one of them matches."""
BARE = re.compile(
    r"(?:周|星期|礼拜)[一二三四五六日天末]|双休日|"
    r"(?:(?:at|on|over|during) )?the weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day",
    re.IGNORECASE,
)
"""Days that come every week."""
_BESIDE = re.compile(r"\s?[（(]?(?:the\s)?", re.IGNORECASE)
"""Between a weekday and its date: Friday the 12th of June."""
PERHAPS = re.compile(r"\s?[,，]?\s?(?:(?:on\s|is\s)?(?:an?\s|the\s)?|是)", re.IGNORECASE)
"""Between them where the date is such a day, or else between two days: 周五，6月12日."""
_HABIT = re.compile(
    r"(?:每|逢|每[个到逢隔一])(?:年|个?月)?的?\s?$|(?<![a-z])(?:every|each|any|most|per)\s(?:other\s)?$",
    re.IGNORECASE,
)
_HABIT_WORDS = 12
_OVER = lazy_pattern(
    "(?:了|(?<![么样])过)(?![来去夜年节几两些])|[说聊谈讲]|提(?![醒前])|发生|曾|以前|之前|当时|那[天时]|上[次回]|回顾|日记"
    "|是(?:在|从|由|跟|和|谁|哪|几[点号]|什么时候|怎么)[^，。？?]{1,12}的[\u4e00-\u9fff]{0,2}(?:\\W|$)"
    r"|\b(?:did|was|were|had|went|came|met|saw|ate|took|said|told|last|ago|journal|diary"
    r"|(?!(?:plann|schedul|book|need|suppos|expect)ed)[a-z]{3,}ed)\b",
    re.IGNORECASE,
)
_TO_COME = lazy_pattern(
    "要(?!是)|(?<!的)会(?![议员面计长场所])|将|该|安排|[日行]程|计划|打算|准备|约|订|有(?:什么|啥|哪些|没有|别的)?"
    "(?:事|活动|空|课|会)|有没有|有[^，。的]{1,4}[吗么]|空吗|没空|忙|[干做](?:嘛|什么|啥)|待办|到期|截止|提醒|下次"
    r"|\b(?:will|shall|going to|plans?|planned|schedule[ds]?|agenda|calendar|due|free|busy"
    r"|available|upcoming|need|have to|supposed|should|doing|(?:do|does) (?:i|we|he|she|they) have"
    r"|appointments?|booked|happening|coming up|what's on|anything on|remind"
    r"|(?:am|have) (?:i|we)|(?:is|are) there)\b|'ll\b",
    re.IGNORECASE,
)
"""What points behind, and what points ahead."""


def towards(query: str) -> Towards:
    """Where a question looks for a date that comes again and again."""
    narrow = narrowed(query)
    over, to_come = _OVER.search(narrow), _TO_COME.search(narrow)
    if bool(over) is bool(to_come):
        return Towards.NEAR
    return Towards.BACK if over else Towards.AHEAD


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
    if _BESIDE.fullmatch(text, *between) or (agrees and PERHAPS.fullmatch(text, *between)):
        return replace(date, first=one.first, last=other.last)
    return None


def is_date(span: TimeSpan | None) -> TypeGuard[TimeSpan]:
    """True for one day that is no word for how far from now."""
    return span is not None and not span.relative and span.precision is Precision.DAY


def _is_weekday(span: TimeSpan) -> bool:
    return is_date(span) and BARE.fullmatch(span.words) is not None


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
    for pattern in (one for sign, patterns in PATTERNS if sign.search(text) for one in patterns):
        for match in pattern.finditer(text):
            first, last = match.span("said" if "said" in pattern.groupindex else 0)
            try:
                yield first, -last, meaning(match, moment)
            except (ValueError, OverflowError, LookupError, StopIteration):  # no such day
                yield first, -last, None


def _habitual(text: str, first: int, days: TimeSpan) -> bool:
    return (
        not days.relative and _HABIT.search(text[max(first - _HABIT_WORDS, 0) : first]) is not None
    )
