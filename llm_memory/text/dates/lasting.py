"""When something ends that is to last for a time: 两个半小时, 到晚上八点, until Friday."""

from __future__ import annotations

from datetime import datetime, time, timedelta

from ..numerals import narrowed, number
from .expressions import find_times
from .spans import Towards
from .words import COUNTED_PARTS, LASTING_HOURS, TIMES, plain

_BEGINNINGS = {
    "begins_morning": time(8), "begins_noon": time(12), "begins_afternoon": time(14),
    "begins_evening": time(18),
}  # fmt: skip
"""Parts of a day, and when they begin; the last that is named counts."""


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
    found = list(TIMES["lasting"].finditer(said))
    if not found or TIMES["lasting_beside"].sub("", TIMES["lasting"].sub(" ", said)):
        return None
    hours = 0.0
    for match in found:
        count = match["count"]
        amount = COUNTED_PARTS.get(count) or number(count)
        half = 0.5 * bool(match["half"] or match["more"])
        many = (float(count) if amount is None else amount) + half
        hours += many * LASTING_HOURS[match["unit"]]
    return now + timedelta(hours=hours)


def _at(said: str, now: datetime) -> datetime | None:
    """At a day, its end where it is not said to last until then, or at a time of day."""
    days = find_times(said, now, Towards.AHEAD)[-1:]
    rest = said[: days[0].first] + said[days[0].last :] if days else said
    clock, until = TIMES["clock"].search(rest), TIMES["until"].search(said) is not None
    begins = [hour for part, hour in _BEGINNINGS.items() if until and TIMES[part].search(said)][-1:]
    more = TIMES["lasting_beside"].sub("", TIMES["clock"].sub(" ", rest, count=1))
    if more or not (days or clock or begins):
        return None
    if days and not (clock or begins):
        begun = until and days[0].start > now.date()
        day = days[0].start if begun else days[0].end + timedelta(days=1)
        return datetime.combine(day, time(), now.tzinfo)
    again = timedelta(days=1)
    hour = number(clock["hour"]) or 0 if clock else 24
    late = hour < 12 and TIMES["late"].search(said) is not None
    if clock:
        minute = clock["minute"] or "0"
        begins = [time(hour % 24, 30 if minute == "半" else number(minute) or 0)]
        either = not late and hour < 12 and TIMES["early"].search(said) is None
        again = timedelta(hours=12) if either else again
    day = days[0].start if days else now.date()
    end = datetime.combine(day, begins[0], now.tzinfo) + timedelta(hours=12 * late)
    while end <= now and not days:
        end += again
    return end
