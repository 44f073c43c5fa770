"""When something ends that is to last for a time: 两个半小时, 到晚上八点, until Friday."""

from __future__ import annotations

from datetime import datetime, time, timedelta

from ..lazy_pattern import lazy_pattern
from ..numerals import ENGLISH_NUMBERS, HAN_NUMERALS, narrowed, number
from .expressions import find_times
from .spans import Towards
from .words import UNIT_DAYS, UNIT_HOURS, plain

_HOURS = {
    **UNIT_HOURS, **{unit: 24.0 * days for unit, days in UNIT_DAYS.items()},
    "分": 1 / 60, "刻钟": 1 / 4, "m": 1 / 60, "h": 1.0, "hr": 1.0, "d": 24.0,
}  # fmt: skip
_PARTS = {"半": 0.5, "half a": 0.5, "half an": 0.5, "a": 1.0, "an": 1.0}
_COUNTS = "|".join(sorted([*_PARTS, *ENGLISH_NUMBERS], key=len, reverse=True))
_UNITS = "|".join(sorted(_HOURS, key=len, reverse=True))
_LASTING = lazy_pattern(
    rf"(?P<count>[0-9]{{1,4}}(?:\.[0-9])?|[{HAN_NUMERALS}]{{1,4}}|{_COUNTS})"
    rf"\s?个?(?P<half>半| and a half)?\s?(?P<unit>{_UNITS})s?(?![a-z])(?P<more>半| and a half)?"
)
_CLOCK = lazy_pattern(
    rf"(?P<hour>[0-9]{{1,2}}|[{HAN_NUMERALS}]{{1,3}})"
    rf"(?:[:点](?P<minute>[0-9]{{2}}|半|[{HAN_NUMERALS}]{{2,3}})?分?|(?=\s?[ap]m))"
)
_LATER = "下午|傍晚|晚上?|夜里|pm|afternoon|evening|tonight|night"
_EARLIER = "凌晨|清?早上?|上午|am|morning"
_TO = r"到|至|(?:un)?till?|to\b"
_LATE, _EARLY, _UNTIL = lazy_pattern(_LATER), lazy_pattern(_EARLIER), lazy_pattern(_TO)
_BEGINNINGS = (
    (lazy_pattern("凌晨|[早清]|上午|morning"), time(8)),
    (lazy_pattern("中午|noon"), time(12)),
    (lazy_pattern("下午|(?<=after)noon"), time(14)),
    (lazy_pattern("晚|夜|evening|night"), time(18)),
)
"""Parts of a day, and when they begin; the last that is named counts."""
_BESIDE = lazy_pattern(
    "暂停|停止|停|先|就|大约|大概|左右|之后|以后|以内|内|后|的|时间|再|自动|恢复|继续|一下|一会儿?|吧|中午"
    rf"|{_TO}|{_LATER}|{_EARLIER}"
    r"|\b(?:for|about|in|at|on|and|the|just|only|please|then|noon)\b|[\s,.，。、!！]"
)


def end_of(text: str, now: datetime) -> datetime | None:
    """The moment, after ``now``, at which ends what lasts as long as ``text`` says; None where it
    says no time, or more than that."""
    said = plain(narrowed(text))
    try:
        end = _after(said, now) or _at(said, now)
    except (OverflowError, ValueError):  # no such moment
        return None
    return end if end is not None and end > now else None


def _after(said: str, now: datetime) -> datetime | None:
    found = list(_LASTING.finditer(said))
    if not found or _is_more(_LASTING.sub(" ", said)):
        return None
    hours = 0.0
    for match in found:
        count = match["count"]
        amount = _PARTS.get(count) or number(count)
        amount = float(count) if amount is None else amount
        hours += (amount + 0.5 * bool(match["half"] or match["more"])) * _HOURS[match["unit"]]
    return now + timedelta(hours=hours)


def _at(said: str, now: datetime) -> datetime | None:
    """At a day, its end where it is not said to last until then, or at a time of day."""
    days = find_times(said, now, Towards.AHEAD)[-1:]
    rest = said[: days[0].first] + said[days[0].last :] if days else said
    clock = _CLOCK.search(rest)
    until = _UNTIL.search(said) is not None
    begins = [hour for part, hour in _BEGINNINGS if until and part.search(said)][-1:]
    if _is_more(_CLOCK.sub(" ", rest, count=1)) or not (days or clock or begins):
        return None
    if clock is None and begins:
        end = datetime.combine(days[0].start if days else now.date(), begins[0], now.tzinfo)
        return end if days or end > now else end + timedelta(days=1)
    if clock is None:
        ahead = until and days[0].start > now.date()
        day = days[0].start if ahead else days[0].end + timedelta(days=1)
        return datetime.combine(day, time(), now.tzinfo)
    hour, minute = number(clock["hour"]) or 0, clock["minute"] or "0"
    late = _LATE.search(said) is not None and hour < 12
    day = days[0].start if days else now.date()
    minutes = 30 if minute == "半" else number(minute) or 0
    end = datetime.combine(day, time(hour % 24, minutes), now.tzinfo) + timedelta(hours=12 * late)
    if not days and end <= now:
        soon = not late and hour < 12 and _EARLY.search(said) is None
        end += timedelta(hours=12 if soon and end + timedelta(hours=12) > now else 24)
    return end


def _is_more(rest: str) -> bool:
    return bool(_BESIDE.sub("", rest))
