"""English dates: months with a day, a year, both or neither. Pure.

``may``, ``march`` and the names of people (April, June, August) are months only where something
beside them says so: a day, a year, a preposition, ``last``.
"""

from __future__ import annotations

import re

from ..lazy_pattern import LazyPattern
from ..numerals import number
from . import spans as calendar
from .spans import Days, Moment, Rule, alternatives

_MONTHS = {
    "january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7,
    "august": 8, "september": 9, "october": 10, "november": 11, "december": 12, "jan": 1,
    "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9, "oct": 10,
    "nov": 11, "dec": 12,
}  # fmt: skip
_FULL = ("may", "june", "july")
_PLAIN = ("January", "February", "July", "September", "October", "November", "December")
_ORDINALS = """
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first
twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth
twenty-ninth thirtieth thirty-first
""".split()  # noqa: SIM905
_EDGES = {"early": 0, "beginning of": 0, "start of": 0, "mid": 1, "middle of": 1, "late": 2,
          "end of": 2}  # fmt: skip
_SEASONS = {
    "spring": calendar.SPRING, "summer": calendar.SUMMER, "autumn": calendar.AUTUMN,
    "fall": calendar.AUTUMN, "winter": calendar.WINTER,
}  # fmt: skip

_LEFT, _RIGHT = "(?<![A-Za-z0-9_'\u2019/.-])", "(?:['\u2019]s)?(?![A-Za-z0-9_])"
_MONTH = (
    f"(?P<month>{alternatives(name for name in _MONTHS if len(name) > 4 or name in _FULL)}"
    f"|(?P<short>{alternatives(name for name in _MONTHS if len(name) <= 4 and name not in _FULL)}))"
    "(?(short)\\.?)"
)
_NUMBER = "(?:3[01]|[12][0-9]|0?[1-9])"
_DAY = f"(?P<day>{_NUMBER}(?P<nth>st|nd|rd|th)?)"
_YEAR = "(?P<year>(?:1[89]|2[01])[0-9]{2})"
_GAP = "\\s{1,3}"
_NO_VERB = "(?-i:(?!may|march|mar))"
_COUNTED = (
    "(?!\\s{0,2}(?:%|percent|people|persons|men|women|of|times|miles?|km|kilomet|meters?|steps|"
    "hours?|minutes?|days?|weeks?|months?|years?|blocks?|more|dollars|pounds|kg|or|and\\s[0-9]))"
)


def _date(match: re.Match[str], moment: Moment) -> Days | None:
    """``May 2nd``, ``2 May 2025``, ``the second of May``."""
    month = _MONTHS[match["month"].lower()]
    day = _day(match["day"])
    if match["year"]:
        return calendar.exactly(int(match["year"]), month, day)
    return calendar.bare_date(moment, month, day)


def _day(words: str) -> int:
    lower = words.lower()
    if lower in _ORDINALS:
        return _ORDINALS.index(lower) + 1
    found = number(lower.rstrip("sthndr"))
    if found is None:
        raise ValueError(f"no day: {words!r}")
    return found


def _month_of_year(match: re.Match[str], _: Moment) -> Days | None:
    """``May 2025``, ``early May 2025``."""
    month, year = _MONTHS[match["month"].lower()], int(match["year"])
    if match["edge"]:
        return calendar.month_part(year, month, _edge(match["edge"]))
    return calendar.month(year, month)


def _edge(words: str) -> int:
    return _EDGES[" ".join(words.lower().replace("-", " ").split())]


def _month(match: re.Match[str], moment: Moment) -> Days | None:
    """``in May``, ``early May``, ``July``."""
    third = _edge(match["edge"]) if match["edge"] else None
    return calendar.bare_month(moment, _MONTHS[match["month"].lower()], third)


def _plain_month(match: re.Match[str], moment: Moment) -> Days | None:
    return calendar.bare_month(moment, _MONTHS[match["month"].lower()])


def _which_month(match: re.Match[str], moment: Moment) -> Days | None:
    """``last May``: the latest that is over; ``next May``: the first that is still to begin."""
    month = _MONTHS[match["month"].lower()]
    years = range(moment.local_day.year - 1, moment.local_day.year + 2)
    known = [calendar.month(year, month, relative=True) for year in years]
    which = match["which"].lower()
    if which == "this":
        return known[1]
    if which == "last":
        return [one for one in known if one.end < moment.local_day][-1]
    return next(one for one in known if one.start > moment.local_day)


def _day_of_month(match: re.Match[str], moment: Moment) -> Days | None:
    """``on the 21st``, ``the 3rd of next month``."""
    if not match["which"]:
        return calendar.bare_day(moment, _day(match["day"]))
    away = {"last": -1, "this": 0, "next": 1}[match["which"].lower()]
    return calendar.exactly(*calendar.month_from(moment, away), _day(match["day"]), relative=True)


def _year(match: re.Match[str], _: Moment) -> Days | None:
    return calendar.year(int(match["year"]))


def _season(match: re.Match[str], _: Moment) -> Days | None:
    """``summer of 2024``, ``winter 2024``."""
    return calendar.season(int(match["year"]), _SEASONS[match["season"].lower()])


_EDGE = "(?:the\\s{1,3})?(?P<edge>early|mid|late|beginning of|start of|middle of|end of)[\\s-]{1,3}"
_IN = "(?:in|since|until|till|by|during|before|after|of|from|through|around|to)"

RULES: tuple[Rule, ...] = tuple(
    (LazyPattern(f"{_LEFT}(?:{pattern}){_RIGHT}", re.IGNORECASE), make)
    for pattern, make in (
        (f"{_MONTH}{_GAP}(?:the{_GAP})?{_DAY}(?:,?{_GAP}{_YEAR}|(?(nth)|{_COUNTED}))", _date),
        (f"{_DAY}{_GAP}(?:of{_GAP}|{_NO_VERB}){_MONTH}(?:,?{_GAP}(?:of{_GAP})?{_YEAR})?", _date),
        (
            f"(?P<day>{alternatives(_ORDINALS)}){_GAP}of{_GAP}{_MONTH}(?:,?{_GAP}{_YEAR})?",
            _date,
        ),
        (f"(?:{_EDGE})?{_MONTH},?{_GAP}(?:of{_GAP})?{_YEAR}", _month_of_year),
        (f"(?<!the )(?P<which>last|this|next){_GAP}{_NO_VERB}{_MONTH}", _which_month),
        (f"{_EDGE}{_MONTH}", _month),
        (f"(?P<edge>(?!))?{_IN}{_GAP}(?P<said>(?-i:(?=[A-Z])){_MONTH})", _month),
        (f"(?-i:(?P<month>{'|'.join(_PLAIN)}))", _plain_month),
        (
            f"the{_GAP}"
            f"(?P<day>{_NUMBER}(?:st|nd|rd|th)){_GAP}of{_GAP}(?P<which>last|this|next){_GAP}month",
            _day_of_month,
        ),
        (
            f"(?P<which>(?!))?(?:on|by|until|till|since|before|after){_GAP}"
            f"(?P<said>the{_GAP}(?P<day>{_NUMBER}(?:st|nd|rd|th)))(?=\\s{{0,2}}(?:[,.;!?)]|$)|{_GAP}(?:and|at|in|we|i|he|she|they|for|but)\\b)",
            _day_of_month,
        ),
        (f"(?:in|since|during|of|until|by|before|after|from){_GAP}(?P<said>{_YEAR})", _year),
        (f"(?P<season>{alternatives(_SEASONS)}){_GAP}(?:of{_GAP}|in{_GAP})?{_YEAR}", _season),
    )
)
