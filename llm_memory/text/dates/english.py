"""English days, weekdays, weeks, months, years and seasons, last, this and next. Pure."""

from __future__ import annotations

import re

from ..lazy_pattern import LazyPattern
from . import spans as calendar
from .english_counts import WORD_END, WORD_START, plain, spaced
from .spans import Days, Moment, Rule, alternatives, no_time

WEEKDAYS = {
    "monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5,
    "sunday": 6,
}  # fmt: skip
_SHORT_WEEKDAYS = {
    "Mon": 0, "Tue": 1, "Tues": 1, "Wed": 2, "Thu": 3, "Thur": 3, "Thurs": 3, "Fri": 4, "Sat": 5,
    "Sun": 6,
}  # fmt: skip
_DAY_WORDS = {
    "the day before yesterday": -2, "day before yesterday": -2, "yesterday": -1, "last night": -1,
    "today": 0, "tonight": 0, "tonite": 0, "this morning": 0, "this afternoon": 0,
    "this evening": 0, "tomorrow": 1, "tmr": 1, "tmrw": 1, "the day after tomorrow": 2,
    "day after tomorrow": 2,
}  # fmt: skip
_WHICH = {"last": -1, "past": -1, "this past": -1, "this": 0, "next": 1}
_SEASONS = {
    "spring": calendar.SPRING, "summer": calendar.SUMMER, "autumn": calendar.AUTUMN,
    "fall": calendar.AUTUMN, "winter": calendar.WINTER,
}  # fmt: skip
_FEASTS = {
    "new year's day": (1, 1), "new year's eve": (12, 31), "valentine's day": (2, 14),
    "halloween": (10, 31), "christmas eve": (12, 24), "christmas": (12, 25),
}  # fmt: skip


def _day_word(match: re.Match[str], moment: Moment) -> Days | None:
    return calendar.day(moment, _DAY_WORDS[plain(match["word"])])


def _weekday(match: re.Match[str], moment: Moment) -> Days | None:
    """``last Wednesday``, ``next Friday``, ``this Fri``, ``on Monday``, ``Monday``."""
    name = match["name"]
    at = WEEKDAYS[name.lower()] if match["whole"] else _SHORT_WEEKDAYS[name.capitalize()]
    which = plain(match["which"] or "")
    if which in {"last", "past", "this past"}:
        away = (at - moment.local_day.weekday()) % 7 - 7
        return calendar.day(moment, away)
    if which == "next":
        return calendar.weekday(moment, 1, at)
    if which in {"this", "this coming", "coming"}:
        own = calendar.weekday(moment, 0, at)
        return own if own.start >= moment.local_day else calendar.weekday(moment, 1, at)
    return calendar.bare_weekday(moment, at)


def _period(match: re.Match[str], moment: Moment) -> Days | None:
    """``last week``, ``this month``, ``next year``, ``last summer``, ``the week before last``."""
    away = _WHICH[plain(match["which"])]
    return _of_unit(match["unit"].lower(), away, moment)


def _of_unit(unit: str, away: int, moment: Moment) -> Days | None:
    if unit == "week":
        return calendar.week(moment, away)
    if unit == "weekend":
        return calendar.weekend(moment, away)
    if unit == "month":
        return calendar.month(*calendar.month_from(moment, away), relative=True)
    if unit == "year":
        return calendar.year(moment.local_day.year + away, relative=True)
    return _season(_SEASONS[unit], away, moment)


def _season(first_month: int, away: int, moment: Moment) -> Days:
    """Last: the latest that is over; this: the one we are in or of this year; next: ahead."""
    years = range(moment.local_day.year - 2, moment.local_day.year + 3)
    known = [calendar.season(year, first_month, relative=True) for year in years]
    if away < 0:
        return max((one for one in known if one.end < moment.local_day), key=lambda one: one.start)
    if away > 0:
        return min(
            (one for one in known if one.start > moment.local_day), key=lambda one: one.start
        )
    within = [one for one in known if one.start <= moment.local_day <= one.end]
    return within[0] if within else known[2]


def _before_last(match: re.Match[str], moment: Moment) -> Days | None:
    away = -2 if match["side"].lower() == "before last" else 2
    return _of_unit(match["unit"].lower(), away, moment)


def _edge(match: re.Match[str], moment: Moment) -> Days | None:
    """``the end of last month``, ``early next year``, ``later this week``."""
    away = _WHICH[plain(match["which"])] if match["which"].lower() != "the" else 0
    whole = _of_unit(match["unit"].lower(), away, moment)
    if whole is None:
        return None
    third = 0 if match["edge"][0] in "bBsSeE" and not match["edge"].lower().startswith("end") else 2
    if match["edge"].lower().startswith("mid"):
        third = 1
    if match["unit"].lower() == "month":
        return calendar.month_part(whole.start.year, whole.start.month, third, relative=True)
    if match["unit"].lower() == "year":
        first, count = ((1, 3), (5, 4), (10, 3))[third]
        return calendar.months(whole.start.year, first, count, relative=True)
    return whole


def _feast(match: re.Match[str], moment: Moment) -> Days | None:
    """``last Christmas``: the latest one; ``this`` is this year's, ``next`` the coming one."""
    away = _WHICH[plain(match["which"])]
    feast = _FEASTS[plain(match["feast"])]
    years = range(moment.local_day.year - 1, moment.local_day.year + 2)
    known = [calendar.exactly(year, *feast, relative=True) for year in years]
    if away == 0:
        return known[1]
    if away < 0:
        return [one for one in known if one.start < moment.local_day][-1]
    return next(one for one in known if one.start > moment.local_day)


def _bare_weekend(_: re.Match[str], moment: Moment) -> Days | None:
    return calendar.bare_weekend(moment)


_NOT_TOLD = "(?<!the )"
"""``the next Friday`` counts from what was told before, not from now."""

_NOT_ANCHORED = (
    r"(?!\s(?:before|after|of|following)\s(?:the\s)?"
    r"(?:[0-9]|(?-i:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)))"
)
"""``last weekend before May`` counts from there."""

_UNITS = "week|weekend|month|year|spring|summer|autumn|fall|winter"
_WHOLE = alternatives(WEEKDAYS)
_SHORT = "(?-i:" + alternatives(_SHORT_WEEKDAYS) + ")"

RULES: tuple[Rule, ...] = tuple(
    (LazyPattern(f"{WORD_START}(?:{pattern}){WORD_END}", re.IGNORECASE), make)
    for pattern, make in (
        (f"(?P<word>{spaced([*_DAY_WORDS])})", _day_word),
        (
            rf"{_NOT_TOLD}"
            r"(?:(?P<which>last|this\s{1,3}past|past|this\s{1,3}coming|coming|this|next)"
            rf"\s{{1,3}})?(?P<name>(?P<whole>{_WHOLE})){_NOT_ANCHORED}",
            _weekday,
        ),
        (
            r"(?P<which>last|this\s{1,3}past|past|this\s{1,3}coming|coming|this|next)"
            rf"\s{{1,3}}(?P<name>(?P<whole>(?!))?{_SHORT})\.?",
            _weekday,
        ),
        (
            rf"(?P<which>(?!))?(?:on|by|until|till|since)\s{{1,3}}"
            rf"(?P<said>(?P<name>(?P<whole>(?!))?{_SHORT})\.?)",
            _weekday,
        ),
        (
            rf"{_NOT_TOLD}(?P<which>last|this\s{{1,3}}past|this|next)\s{{1,3}}"
            rf"(?P<unit>{_UNITS}){_NOT_ANCHORED}",
            _period,
        ),
        (
            r"(?:the\s{1,3})?(?P<unit>week|weekend|month|year)\s(?P<side>before last|after next)",
            _before_last,
        ),
        (
            r"(?:the\s{1,3})?(?P<edge>beginning|start|middle|end|early|mid|late)[\s-]{1,3}(?:of\s{1,3})?"
            r"(?P<which>last|this|next|the)\s{1,3}(?P<unit>month|year)",
            _edge,
        ),
        (
            r"(?P<edge>earlier|later)\s{1,3}(?P<which>this)\s{1,3}(?P<unit>week|month|year)",
            _period,
        ),
        (rf"(?P<which>last|this|next)\s{{1,3}}(?P<feast>{spaced([*_FEASTS])})", _feast),
        (
            rf"(?:(?:at|on|over|during)\s{{1,3}})?the\s{{1,3}}weekend{_NOT_ANCHORED}",
            _bare_weekend,
        ),
        (
            rf"the\s{{1,3}}(?:next|previous|following)\s{{1,3}}(?:day|{_UNITS}|{_WHOLE})"
            rf"|the\s{{1,3}}last\s{{1,3}}(?:{_WHOLE})",
            no_time,
        ),
        (
            r"usa\s{1,3}today|the\s{1,3}today\s{1,3}show|(?:black|good)\s{1,3}friday"
            r"|sunday\s{1,3}(?:times|school)|wednesday\s{1,3}addams",
            no_time,
        ),
    )
)
