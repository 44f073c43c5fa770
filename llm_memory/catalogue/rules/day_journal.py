"""The journal of a day, in a few sentences: what was remembered of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
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
_HEAD: Final = re.compile(r"(.{0,40}?)记下了 \d+ 条：")
_SAID: Final = re.compile("[^：]*?说“(.*)”", re.DOTALL)
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


def journal_without(journal: str, texts: Collection[str]) -> str | None:
    """Returns a journal without the entries that say one of ``texts``, empty where none is left;
    None where it lists no entries."""
    head = _HEAD.match(journal)
    if head is None:
        return None
    gone = {told for text in texts if (told := _told(text))}
    pieces = journal[head.end() :].split(_BETWEEN)
    left = [piece for piece in pieces if gone.isdisjoint(_may_tell(piece))]
    if len(left) == len(pieces):
        return journal
    return f"{head[1]}记下了 {len(left)} 条：{_BETWEEN.join(left)}" if left else ""


def _may_tell(piece: str) -> set[str]:
    """Returns the words that a listed entry may have: a name may hold a colon, and so may words."""
    said = _SAID.fullmatch(piece)
    tails = (piece[place + 1 :] for place, char in enumerate(piece) if char == "：")
    return {piece, *tails, *([said[1]] if said else [])}


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
