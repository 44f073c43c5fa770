"""English counts of days from now: ``two weeks ago``, ``in 3 days``, ``recently``. Pure."""

from __future__ import annotations

import re

from ..lazy_pattern import LazyPattern
from ..numerals import ENGLISH_NUMBERS, number
from . import spans as calendar
from .spans import Days, Moment, Rule, alternatives

_VAGUE = {
    "recently": (-30, 0), "lately": (-30, 0), "these days": (-30, 0), "the other day": (-7, -1),
    "just now": (0, 0), "a while ago": (-60, -1), "a while back": (-60, -1),
    "not long ago": (-30, -1), "a moment ago": (0, 0), "last few days": (-7, 0),
    "past few days": (-7, 0), "last couple of days": (-4, 0), "past couple of days": (-4, 0),
    "next few days": (0, 7), "next couple of days": (0, 4), "last few weeks": (-35, 0),
    "past few weeks": (-35, 0), "next few weeks": (0, 35), "last few months": (-180, 0),
    "past few months": (-180, 0), "last few years": (-1825, 0), "past few years": (-1825, 0),
}  # fmt: skip
"""Days from today that such words most often mean: our guess, for finding, never for storing."""

_UNIT_DAYS = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}
_HOURS = {"second": 1 / 3600, "minute": 1 / 60, "min": 1 / 60, "hour": 1.0}
_MOMENTS = frozenset({"second", "minute", "min"})
_FEW = frozenset({"few", "several", "some"})
_ONE = frozenset({"a", "an", "a single"})
_TWO = frozenset({"couple", "couple of", "a couple", "a couple of"})
_COUNT = (
    "(?:(?:a )?(?:few|couple(?: of)?)|several|some|[0-9]{1,4}|an?|half an?|"
    f"(?:{alternatives(ENGLISH_NUMBERS)})(?:-(?:{alternatives(ENGLISH_NUMBERS)}))?)"
)
_PAST_TENSE = LazyPattern(
    r"\b(?:was|were|did|had|been|built|made|wrote|read|ran|took|went|lost|won|got|learnt|came|done"
    r"|once|twice|times?|(?<!is )(?<!are )(?<!be )(?!(?:need|feed|speed|proceed|succeed)\b)"
    r"[a-z]{2,20}ed)\b[^.!?]{0,40}$",
    re.IGNORECASE,
)
_DATE_IN_BRACKETS = re.compile(r"\s?[(][^()]{0,40}[)]")
_LOOK_BACK = 60


def plain(words: str) -> str:
    return " ".join(words.lower().replace("\u2019", "'").split())


def spaced(words: list[str]) -> str:
    return alternatives(words).replace(r"\ ", r"\s{1,3}").replace("'", "['\u2019]")


def _ago(match: re.Match[str], moment: Moment) -> Days | None:
    return _counted(match, moment, -1)


def _ahead(match: re.Match[str], moment: Moment) -> Days | None:
    """``in 3 days``, but not ``finished it in 3 days``."""
    if match["unit"].lower() in _MOMENTS and not match["count"].isdigit():
        return None  # "in a minute" is soon
    before = match.string[max(match.start() - 3 * _LOOK_BACK, 0) : match.start()]
    said = _DATE_IN_BRACKETS.sub("", before)[-_LOOK_BACK:]
    return None if _PAST_TENSE.search(said) else _counted(match, moment, 1)


def _from_now(match: re.Match[str], moment: Moment) -> Days | None:
    return _counted(match, moment, 1)


def _counted(match: re.Match[str], moment: Moment, sign: int) -> Days | None:
    unit = match["unit"].lower()
    count = _number(plain(match["count"]))
    if unit in _HOURS:
        hours = sign * (3 if count is None else count) * _HOURS[unit]
        return calendar.day(moment, (moment.hours_away(hours) - moment.local_day).days)
    if count is None:
        ends = sign * 2 * _UNIT_DAYS[unit], sign * 7 * _UNIT_DAYS[unit]
        return calendar.span(moment, min(ends), max(ends), vague=True)
    away = sign * count
    if unit == "day":
        return calendar.day(moment, round(away))
    if unit in {"week", "fortnight"} or (unit == "month" and count < 1):
        return calendar.around(moment, round(away * _UNIT_DAYS[unit]))
    if unit == "month" or count < 1:
        months = round(away * (1 if unit == "month" else 12))
        return calendar.month(*calendar.month_from(moment, months), relative=True)
    return calendar.year(moment.local_day.year + round(away), relative=True)


def _number(words: str) -> float | None:
    """None for a few."""
    if words.removeprefix("a ") in _FEW:
        return None
    if words in _ONE:
        return 1
    if words in _TWO:
        return 2
    if words.startswith("half"):
        return 0.5
    parts = [number(part) for part in words.split("-")]
    return sum(part for part in parts if part is not None)


def _range(match: re.Match[str], moment: Moment) -> Days | None:
    """``the last 3 days``, ``the past week``, ``the next two weeks``; not ``the next day``."""
    count = _number(plain(match["count"] or "a"))
    days = round((5 if count is None else count) * _UNIT_DAYS[match["unit"].lower()])
    ends = (0, days) if match["which"].lower() in {"next", "coming"} else (-days, 0)
    return calendar.span(moment, *ends, vague=count is None)


def _vague(match: re.Match[str], moment: Moment) -> Days | None:
    return calendar.span(moment, *_VAGUE[plain(match["word"])], vague=True)


WORD_START, WORD_END = "(?<![A-Za-z0-9_'\u2019-])", "(?:['\u2019]s)?(?![A-Za-z0-9_-])"

RULES: tuple[Rule, ...] = tuple(
    (LazyPattern(f"{WORD_START}(?:{pattern}){WORD_END}", re.IGNORECASE), make)
    for pattern, make in (
        (f"(?P<word>{spaced([*_VAGUE])})", _vague),
        (
            rf"(?P<count>{_COUNT})\s{{1,3}}(?P<unit>{alternatives([*_UNIT_DAYS, *_HOURS])})s?"
            r"\s{1,3}(?:ago|back|before now|earlier)",
            _ago,
        ),
        (
            rf"in\s{{1,3}}(?:about\s{{1,3}})?(?P<count>{_COUNT})\s{{1,3}}"
            rf"(?P<unit>{alternatives([*_UNIT_DAYS, *_HOURS])})s?(?:['\u2019]\s{{1,3}}time)?",
            _ahead,
        ),
        (
            rf"(?P<count>{_COUNT})\s{{1,3}}(?P<unit>{alternatives([*_UNIT_DAYS, *_HOURS])})s?"
            r"\s{1,3}from\s{1,3}(?:now|today)",
            _from_now,
        ),
        (
            rf"(?:the|these)\s{{1,3}}(?P<which>last|past|(?P<ahead>next|coming))\s{{1,3}}"
            rf"(?:(?P<count>{_COUNT})\s{{1,3}}|(?(ahead)(?!)))"
            rf"(?P<unit>{alternatives(_UNIT_DAYS)})s?",
            _range,
        ),
    )
)
