"""What the named groups of a pattern say together, whichever language named them. Pure.

========== ===================================================================
word       a day or a vague time by itself: 昨天, recently
side       behind or before a ``count`` of a ``unit``: 三天前, in two weeks
range      before a ``count`` of a ``unit``: 最近三天, the past week
which      last, this, next ``unit``, ``month``, ``weekday``, ``feast``
year_word  去年; or ``year`` in digits, with what is inside the year
========== ===================================================================

Without these a ``weekday``, a weekend (``end``), a ``month``, a ``day``, a ``part`` of a month or a
``year_part`` come again and again. A pattern with none of the groups takes words that look like a
time and are none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Final

from ..numerals import number
from . import spans as calendar
from . import words
from .spans import Moment, Precision, TimeSpan
from .words import TIMES

type Said = dict[str, str]
"""The groups that matched, in lower case."""

_LOOK_BACK = 60
_LEAP_YEARS_APART = 8
_MOMENTS = frozenset({"second", "minute", "min"})
_AMOUNTS: Final[dict[str, float | tuple[int, int]]] = {
    "半": 0.5, "half a": 0.5, "half an": 0.5, "a": 1, "an": 1, "couple": 2, "couple of": 2,
    "few": (2, 7), "several": (2, 7), "some": (2, 7),
}  # fmt: skip
_TWO_DIGITS = re.compile("[一二两三四五六七八九]{2}")
_MONTH_DAYS, _YEAR_DAYS = words.UNIT_DAYS["month"], words.UNIT_DAYS["year"]


def meaning(match: re.Match[str], moment: Moment) -> TimeSpan | None:
    """The days of a match; None: the words are taken, and are no time.

    Raises ValueError, OverflowError or LookupError where no calendar has such days.
    """
    said = {name: words.plain(text) for name, text in match.groupdict().items() if text}
    if "side" in said and not _is_from_now(said, match):
        return None
    if "weekday" in said and "unit" not in said:
        return _weekday(said, moment, over=_is_over(match, moment))
    group = next((group for group in _MEANINGS if group in said), None)
    return _MEANINGS[group](said, moment) if group else _repeated(said, moment)


def _word(said: Said, moment: Moment) -> TimeSpan:
    word = said["word"]
    if word in words.DAY_WORDS:
        return calendar.day(moment, words.DAY_WORDS[word])
    return calendar.span(moment, *words.VAGUE[word], vague=True)


def _is_from_now(said: Said, match: re.Match[str]) -> bool:
    """False where the count begins elsewhere (``手术三天后``), or tells how long something took
    (``finished it in 3 days``); "in a minute" is soon."""
    before = match.string[max(match.start() - 3 * _LOOK_BACK, 0) : match.start()]
    if said["side"] == "后":
        return TIMES["han_from_now"].search(before[-4:]) is not None
    if said["side"] != "in":
        return True
    before = TIMES["date_in_brackets"].sub("", before)[-_LOOK_BACK:]
    soon = said["unit"] in _MOMENTS and not said["count"].isdigit()
    return not soon and TIMES["past_tense"].search(before) is None


def _counted(said: Said, moment: Moment) -> TimeSpan:
    """``3天前``, ``一年半以前``, ``five minutes ago``; a few and ``两三天前`` are vague."""
    sign, unit, count = words.SIDES[said["side"]], said["unit"], _amount(said["count"])
    half = 0.5 if "half" in said or "more" in said else 0
    if unit in words.UNIT_HOURS:
        hours = words.UNIT_HOURS[unit] * ((3 if isinstance(count, tuple) else count) + half)
        return calendar.day(moment, (moment.hours_away(sign * hours) - moment.local_day).days)
    days = words.UNIT_DAYS[unit]
    if isinstance(count, tuple):
        first, last = sorted(sign * end * days for end in count)
        return calendar.span(moment, first, last, vague=True)
    count = sign * (count + half)
    if days == 1:
        return calendar.day(moment, round(count))
    if days < _MONTH_DAYS or (days == _MONTH_DAYS and abs(count) < 1):
        return calendar.around(moment, round(count * days))
    if days == _MONTH_DAYS or count % 1:
        months = round(count * (1 if days == _MONTH_DAYS else 12))
        return calendar.month(*calendar.month_from(moment.local_day, months), relative=True)
    return calendar.year(moment.local_day.year + round(count), relative=True)


def _range(said: Said, moment: Moment) -> TimeSpan:
    """``最近三天``, ``the past week``: up to today, or from today on. A few are up to seven."""
    count = _amount(said.get("count", "a"))
    many = min(count[1], 7) if isinstance(count, tuple) else count
    days = round(many * words.UNIT_DAYS[said["unit"]])
    first, last = (0, days) if said["range"] in words.AHEAD else (-days, 0)
    return calendar.span(moment, first, last, vague=isinstance(count, tuple))


def _amount(count: str) -> float | tuple[int, int]:
    """A number, or from how many to how many: ``两三`` is two to three."""
    fixed = _AMOUNTS.get(count) or _AMOUNTS.get(count.removeprefix("a "))
    if fixed is not None:
        return fixed
    if _TWO_DIGITS.fullmatch(count):
        near, far = map(_number, count)
        return (near, far) if near < far else (1, 10)
    parts = [number(part) for part in count.split("-")]
    return (1, 10) if None in parts else sum(part for part in parts if part is not None)


def _period(said: Said, moment: Moment) -> TimeSpan | None:
    """``上周五``, ``下个月3号``, ``the end of last month``, ``last summer``: of the calendar."""
    which, unit = said["which"], said["unit"]
    away = words.WHICH.get(which, which.count("下") - which.count("上"))
    if unit in words.SEASONS:
        months = partial(calendar.months, first=words.SEASONS[unit], count=3, relative=True)
        return calendar.of_its_name(moment, away, months)
    if "end" in said or unit == "weekend":
        return calendar.weekend(moment, away)
    days = words.UNIT_DAYS[unit]
    if days == _YEAR_DAYS:
        return _in_year(said, moment.local_day.year + away, relative=True)
    if days == _MONTH_DAYS:
        return _in_month(said, *calendar.month_from(moment.local_day, away), relative=True)
    if "weekday" in said:
        return calendar.weekday(moment, away, words.WEEKDAYS[said["weekday"]])
    return calendar.week(moment, away)


def _which(said: Said, moment: Moment) -> TimeSpan | None:
    """``last May``, ``next Christmas``."""
    away = words.WHICH[said["which"]]
    return calendar.of_its_name(moment, away, partial(_in_year, said, relative=True))


def _weekday(said: Said, moment: Moment, *, over: bool) -> TimeSpan:
    """``last Wednesday``, ``Monday``, ``星期一``; ``over``: today, at a past hour."""
    at = words.WEEKDAYS[said["weekday"]]
    if "which" not in said:
        return calendar.bare_weekday(moment, at, over=over)
    away = words.WHICH[said["which"]]
    if away < 0:
        return calendar.day(moment, (at - moment.local_day.weekday()) % 7 - 7)
    own = calendar.weekday(moment, away, at)
    return own if own.start >= moment.local_day else calendar.weekday(moment, 1, at)


def _is_over(match: re.Match[str], moment: Moment) -> bool:
    """Whether an hour that stands behind the day is past by now, in the morning and the evening
    where it does not say which."""
    found = TIMES["hour"].match(match.string, match.end())
    if found is None:
        return False
    ends = words.PARTS_OF_DAY.get(
        (found["part"] or found["english"] or found["half"] or "").lower(), 24
    )
    hour = _number(found["hour"] or found["clock"] or "0")
    hour += 12 if 0 < hour < 12 < ends else 0
    return (hour or ends) < moment.said_at.hour


def _year_word(said: Said, moment: Moment) -> TimeSpan:
    """``去年``, with what is inside it."""
    year, today = moment.local_day.year + words.YEAR_WORDS[said["year_word"]], moment.local_day
    if "same_day" in said:
        return calendar.exactly(year, today.month, today.day, relative=True)
    return _in_year(said, year, relative=True)


def _year(said: Said, moment: Moment) -> TimeSpan:
    """``2026年5月``; ``26年`` is of the century in which it lies nearest."""
    year = _number(said["year"])
    centuries = round((moment.local_day.year - year) / 100) if len(said["year"]) <= 2 else 0
    return _in_year(said, year + 100 * centuries)


def _in_year(said: Said, year: int, *, relative: bool = False) -> TimeSpan:
    """A year, or what is named of it."""
    if "month" in said:
        month = words.MONTHS.get(said["month"]) or _number(said["month"])
        return _in_month(said, year, month, relative=relative)
    if "season" in said:
        return calendar.months(year, words.SEASONS[said["season"]], 3, relative=relative)
    if "feast" in said:
        return calendar.exactly(year, *words.FEASTS[said["feast"]], relative=relative)
    part = said.get("year_part") or said.get("part")
    if part:
        return calendar.months(year, *words.YEAR_PARTS[part], relative=relative)
    return calendar.year(year, relative=relative)


def _in_month(said: Said, year: int, month: int, *, relative: bool = False) -> TimeSpan:
    if "day" in said:
        return calendar.exactly(year, month, _number(said["day"]), relative=relative)
    if "part" in said:
        third = words.MONTH_PARTS[said["part"]]
        return calendar.month_part(year, month, third, relative=relative)
    return calendar.month(year, month, relative=relative)


def _repeated(said: Said, moment: Moment) -> TimeSpan | None:
    """``5月2号到5号``, ``in early May``, ``二十一号``, ``月底``, ``元旦``: of every year."""
    if said.keys() & {"month", "year_part", "feast"}:
        years = range(-_LEAP_YEARS_APART, _LEAP_YEARS_APART + 1)
        found = moment.chosen(partial(_in_year, said, moment.local_day.year + own) for own in years)
    elif said.keys() & {"day", "part"}:
        near = (calendar.month_from(moment.local_day, away) for away in range(-2, 3))
        found = moment.chosen(partial(_in_month, said, *own) for own in near)
    else:
        return None
    if found is None or "until" not in said:
        return found
    last = found.start.replace(day=_number(said["until"]))
    return TimeSpan(found.start, last, Precision.SPAN) if last > found.start else found


def _number(text: str) -> int:
    found = words.ORDINALS.get(text) or number(text.rstrip("sthndr"))
    if found is None:
        raise ValueError(f"no number: {text!r}")
    return found


_MEANINGS: Final[dict[str, Callable[[Said, Moment], TimeSpan | None]]] = {
    "word": _word,
    "side": _counted,
    "range": _range,
    "unit": _period,
    "which": _which,
    "end": lambda _, moment: calendar.bare_weekend(moment),
    "year_word": _year_word,
    "year": _year,
}
"""The first of these groups that matched decides."""
