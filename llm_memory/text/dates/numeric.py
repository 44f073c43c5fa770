"""Dates in digits: ``2026-05-02``, ``2026/5/2``, ``2026.5.2``, ``2026-05``. Pure."""

from __future__ import annotations

import re

from ..lazy_pattern import LazyPattern
from . import spans as calendar
from .spans import Days, Moment, Rule


def _date(match: re.Match[str], _: Moment) -> Days | None:
    return calendar.exactly(int(match["year"]), int(match["month"]), int(match["day"]))


def _month(match: re.Match[str], _: Moment) -> Days | None:
    return calendar.month(int(match["year"]), int(match["month"]))


_ALONE = r"(?<![0-9A-Za-z/_.\-])"
_YEAR = "(?P<year>(?:1[89]|2[01])[0-9]{2})"

RULES: tuple[Rule, ...] = tuple(
    (LazyPattern(pattern), make)
    for pattern, make in (
        (
            rf"{_ALONE}{_YEAR}(?P<sign>[-/.])(?P<month>1[0-2]|0?[1-9])(?P=sign)"
            r"(?P<day>[12][0-9]|3[01]|0?[1-9])(?![0-9/_\-]|\.[0-9])",
            _date,
        ),
        (
            rf"{_ALONE}{_YEAR}[-/](?P<month>1[0-2]|0[1-9])(?![0-9/_\-]|\.[0-9])",
            _month,
        ),
    )
)
