"""The journal of a day, in a few sentences: what was remembered of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, tzinfo
from typing import Final

from ...models.data_models import Memory, StoredMemory
from ...text.normalising import derived_id, preview
from ...text.safe_text import shown_name

MOST_CHARS: Final = 600
"""Of a digest."""
LEAST_ENTRIES: Final = 3
"""A day with fewer entries gets no journal: the entries suffice."""
_LISTED: Final = 10
_LISTED_CHARS: Final = 60
_BETWEEN: Final = "；"
_DAYS: Final = "一二三四五六日"
NOTHING: Final = "无"
"""The text of a journal in which nothing is left."""


def digest_id(scope: str, day: date) -> str:
    """Returns the id of a scope's journal of a day; the same on every run."""
    return derived_id("m", "journal", scope, day.isoformat())


def is_journal(stored: StoredMemory) -> bool:
    """True for the journal of the day that the entry was made for."""
    memory = stored.memory
    return memory.memory_id == digest_id(stored.scope.name, memory.created_at.date())


def end_of(day: date, zone: tzinfo | None) -> datetime:
    """Returns the last second of a local day."""
    return datetime.combine(day, time(23, 59, 59), tzinfo=zone)


def start_of(day: date, zone: tzinfo | None) -> datetime:
    """Returns the first moment of a local day."""
    return datetime.combine(day, time.min, tzinfo=zone)


def from_entries(day: date, entries: Sequence[StoredMemory]) -> str | None:
    """Returns a digest that lists the day's strongest entries; None if there are no entries."""
    if not entries:
        return None
    strongest = sorted(entries, key=lambda s: (-s.memory.strength, s.memory.created_at))[:_LISTED]
    told: list[str] = []
    for stored in sorted(strongest, key=lambda s: s.memory.created_at):
        piece = _listed(stored.memory)
        if sum(map(len, told)) + len(piece) > MOST_CHARS:
            break
        told.append(piece)
    return f"{_dated(day)}记下了 {len(entries)} 条：{_BETWEEN.join(told)}"


def is_listed(text: str, words: str) -> bool:
    """Returns whether ``words`` is how a journal lists an entry that says ``text``."""
    told = _told(text)
    return bool(told) and (words == told or words.endswith(f"说“{told}”"))


def _told(text: str) -> str:
    return preview(text, _LISTED_CHARS).rstrip("。.；;").replace(_BETWEEN, "，")


def _listed(memory: Memory) -> str:
    words = _told(memory.judgment)
    who = "" if memory.reworded else shown_name(memory.who)
    if memory.quoted:
        return f"{who or '有人'}说“{words}”"
    return f"{who}：{words}" if who else words


def _dated(day: date) -> str:
    return f"{day.isoformat()}（周{_DAYS[day.weekday()]}）"
