"""The day of what a memory tells, and whether two memories tell of one event. Pure.

A day that the words name is the event's own. Where they name none, the reader of the turn may have
found it: it stands in the entry as a field, ``日期：2026-06-12``, that a person may write, too.
Else the event is of about the day on which it was said.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Final

from ...models.data_models import NO_TIME, Memory, MemoryKind
from ...text.dates.expressions import Precision, find_times

_NAME: Final = "日期"
_FIELD: Final = re.compile(
    rf"{_NAME}\s*[：:]\s*([0-9]{{4}})\s*[-/.年]\s*([0-9]{{1,2}})\s*[-/.月]\s*([0-9]{{1,2}})\s*日?"
)
SAME_EVENT: Final = timedelta(days=3)
"""A repetition without a day of its own tells of the same event so long."""


def noted_day(memory: Memory) -> date | None:
    """Returns the day in the entry's field, None without one."""
    for piece in memory.extra:
        if (found := _FIELD.fullmatch(piece)) is not None:
            try:
                return date(*map(int, found.groups()))
            except ValueError:  # 2026-02-31
                continue
    return None


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
