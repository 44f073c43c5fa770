"""Assigns entries to days, and orders the answer to a question about days. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from itertools import count

from ...models.data_models import Memory, MemoryKind, StoredMemory, Topic
from ...models.passages import Passage, moment_of
from ...text.dates.spans import TimeSpan
from .event_day import has_day as names_its_day
from .event_day import noted_day, told
from .passage_text import shown_text

MADE_OF_ENTRIES = "汇总：条目"
"""A field of the entry in which earlier versions repeated a day's other entries."""
MAX_ZONE_DIFFERENCE = timedelta(days=2)
"""The largest difference between two zones' dates at one moment: zones are up to 26 hours apart,
rounded up."""

_DAY = "([0-9]{4}-[0-9]{2}-[0-9]{2})"
_JOURNAL_DAY = re.compile(rf"{Topic.JOURNAL.value}/{_DAY}(?:-[0-9]+)?\.md")


def is_digest(memory: Memory) -> bool:
    """True for an entry that repeats what the others of its day say, as earlier versions wrote it:
    it answers questions about that day only."""
    return MADE_OF_ENTRIES in memory.extra


def has_day(stored: StoredMemory) -> bool:
    """True if it is known on which day it was said, or a person put it into a day's journal."""
    return not stored.memory.undated or _file_day(stored.path) is not None


def written_day(stored: StoredMemory) -> date:
    """Returns the day that the entry itself shows: if a person put it into another day's journal
    than its time says, that journal's day."""
    own = stored.memory.created_at.date()
    return _file_day(stored.path) or own


def local_day(passage: Passage, zone: tzinfo | None) -> date:
    """Returns the day in ``zone`` on which it was said, whatever zone it was noted in.

    A digest keeps the day that it sums up, and an entry that a person put into another day's
    journal keeps that journal's day.
    """
    moment = moment_of(passage)
    if isinstance(passage, StoredMemory):
        shown = written_day(passage)
        if is_digest(passage.memory) or shown != moment.date():
            return shown
    try:
        return (moment if zone is None else moment.astimezone(zone)).date()
    except OverflowError:  # where the calendar ends
        return moment.date()


def _file_day(path: str) -> date | None:
    found = _JOURNAL_DAY.fullmatch(path)
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:  # 2026-02-31.md
        return None


@dataclass(frozen=True, slots=True)
class Dated:
    """A memory and the day that it belongs to, in the asker's zone; ``said_then``: that is one of
    the days asked for, of what is told or else of when it was said."""

    stored: StoredMemory
    day: date
    said_then: bool


def dated(stored: StoredMemory, spans: Sequence[TimeSpan], zone: tzinfo | None) -> Dated | None:
    """Returns the memory with its day if it was said on a day of the spans, tells of one, or names
    one: by date, or in the question's words where their meaning is the same on every day (11月3号;
    not 昨天)."""
    said, noted = local_day(stored, zone), noted_day(stored.memory)
    for day in (noted, said if has_day(stored) else None):
        if day is not None and any(span.start <= day <= span.end for span in spans):
            return Dated(stored, day, said_then=True)
    if any(_names(stored, span) for span in spans if not span.vague):
        return Dated(stored, said, said_then=False)
    return None


def _names(stored: StoredMemory, span: TimeSpan) -> bool:
    if any(first <= span.end and span.start <= last for first, last in told(stored.memory).written):
        return True
    return not span.relative and span.words.casefold() in shown_text(stored).casefold()


def lying(
    stored: StoredMemory, spans: Sequence[TimeSpan], zone: tzinfo | None, today: date
) -> tuple[int, bool, date] | None:
    """Returns what orders the plans of days, the first to be told the least: how directly it tells
    of one, whether that is over, and the day. An event that names no day, and a digest, are of the
    day on which they were said. None for any other."""
    lying_in = map(told(stored.memory).lying, spans)
    found = [(at[0], at[1] < today, at[1]) for at in lying_in if at]
    said = local_day(stored, zone)
    of_its_day = stored.memory.kind is MemoryKind.EVENT and not names_its_day(stored.memory)
    if not found and of_its_day and any(span.start <= said <= span.end for span in spans):
        found.append((4 if is_digest(stored.memory) else 3, said < today, said))
    return min(found, default=None)


def in_order(memories: Sequence[Dated], *, own: str, limit: int) -> list[StoredMemory]:
    """Returns the answer to a question that names days only.

    What was said on them, the scope named ``own`` before others: the first of each day, by day,
    then the second of each, in the given order; then what only names one of them. Where ``limit``
    days are not all of them, the last ones are told.
    """
    number = defaultdict[tuple[str, date], Iterator[int]](count)

    def rank(one: Dated) -> tuple[bool, bool, int]:
        name = one.stored.scope.name
        turn = next(number[name, one.day]) if one.said_then else 0
        return not one.said_then, name != own, turn

    ranked = [(rank(one), one.day if one.said_then else date.min, one.stored) for one in memories]
    ranked.sort(key=lambda each: (each[0], -each[1].toordinal()))
    told, rest = ranked[:limit], ranked[limit:]
    told.sort(key=lambda each: each[:2])
    return [stored for *_, stored in (*told, *rest)]
