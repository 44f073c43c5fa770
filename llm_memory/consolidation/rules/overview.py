"""MEMORY.md: what a scope remembers, for people who look at its folder. Pure.

Nothing in it is an order to anybody: only what somebody vouches for stands under the standing
instructions, and whatever is unvouched stands between quotation marks with its speaker.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Final

from ...catalogue.rules.closing import holding
from ...catalogue.rules.event_day import told_day
from ...catalogue.rules.proposals import accepted_as, is_proposed
from ...models.data_models import UNDATED, Memory, Source, StoredMemory, Topic, shown_day
from ...models.decisions import record_name
from ...models.vault_layout import topic_of
from ...recall.rules.tell_once import once
from ...remember.rules.gate import says_nothing
from ...text.normalising import clean, preview
from ...text.safe_text import shown_name

_LISTED: Final = 8
"""Of each topic."""
_PREVIEW: Final = 80
_HEADINGS: Final[Mapping[Topic | None, tuple[str, str]]] = {
    Topic.INSTRUCTIONS: ("长期指示", "Standing instructions"),
    Topic.PREFERENCES: ("偏好", "Preferences"),
    Topic.ENTITIES: ("人和事物", "People and things"),
    Topic.DECISIONS: ("决定", "Decisions"),
    Topic.PATTERNS: ("规律和经验", "Patterns"),
    Topic.TASKS: ("任务", "Tasks"),
    Topic.JOURNAL: ("日志", "Journal"),
    None: ("其他", "Others"),
}
"""In Chinese and in English."""
_POINTER: Final = re.compile(r"#(m-[0-9a-z]{4,32})\)[ \t\r]*$", re.MULTILINE)


def memory_page(entries: Sequence[StoredMemory], previous: str, *, english: bool = False) -> str:
    """The lines between the bot's marks.

    Args:
        entries: All living entries of one scope. What something has settled is not told, and what
            several have said just so is told once.
        previous: What stood there. Of its lines whose entries still live at most a quarter go: the
            strongest of the others stay, however many others are stronger.
    """
    entries = holding(entries)
    by_heading: dict[Topic | None, list[StoredMemory]] = {}
    for stored in sorted(entries, key=_rank):
        by_heading.setdefault(_heading(stored), []).append(stored)
    best = (islice(filter(_says_something, group), _LISTED) for group in by_heading.values())
    chosen = {stored.memory.memory_id for group in best for stored in group}
    chosen |= _kept(entries, previous, chosen)
    order = {topic: said[english] for topic, said in _HEADINGS.items() if topic in by_heading}
    counts = " · ".join(f"{name} {len(by_heading[topic])}" for topic, name in order.items())
    total = len(entries)
    lines = [f"{total} memories: {counts}" if english else f"共 {total} 条记忆：{counts}"]
    for topic, name in order.items():
        shown = [s for s in by_heading[topic] if s.memory.memory_id in chosen]
        more = len(by_heading[topic]) - len(shown)
        told = (line_of(*said, english=english) for said in once(shown))
        lines += ["", f"### {name}", "", *told]
        lines += [f"- … {more} more" if english else f"- ……还有 {more} 条"] if more else []
    return "\n".join(lines) + "\n"


def pointed_ids(content: str) -> tuple[str, ...]:
    """The entries that the lines of a page lead to, in their order."""
    return tuple(_POINTER.findall(content))


def line_of(stored: StoredMemory, *also: StoredMemory, english: bool = False) -> str:
    """One entry on one line of a page, with the names of those who said just so, and of a proposal
    what became of it; ``memory_page`` finds it again by the pointer at its end."""
    memory = stored.memory
    date = shown_day(told_day(memory), "undated" if english else UNDATED)
    said = _said(memory, *(one.memory for one in also), english=english)
    if is_proposed(memory):
        said += " (not decided)" if english else "（未决）"
    elif number := accepted_as(memory):
        said += f" ({record_name(number)})" if english else f"（{record_name(number)}）"
    return f"- {date} {said} ({stored.pointer})"


def inert(text: str, limit: int = _PREVIEW) -> str:
    """Somebody's words on one line of a page: they end no comment, begin none, and make no entry of
    the line."""
    line = preview(clean(text), limit)
    return line.replace("<!--", "&lt;!--").replace("-->", "--&gt;").replace("^m-", "\\^m-")


def is_vouched_for(memory: Memory) -> bool:
    """True for what may be told as it stands: a trusted speaker's, and no quotation."""
    return memory.provenance.trusted and not memory.quoted


def _said(memory: Memory, *also: Memory, english: bool) -> str:
    names = (shown_name(one.who) for one in (memory, *also))
    who = (", " if english else "、").join(dict.fromkeys(name for name in names if name))
    words = inert(memory.judgment)
    if is_vouched_for(memory):
        return f"{who}{': ' if english else '：'}{words}" if who else words
    if english:
        return f'{who or "somebody"} said: "{words}"'
    return f"{who or '有人'}说：“{words}”"


def _says_something(stored: StoredMemory) -> bool:
    """False for what the gate refuses today: it came past it, or before. A person's own lines are
    as a person wants them."""
    memory = stored.memory
    return memory.provenance.source is Source.PERSON or not says_nothing(memory.judgment)


def _heading(stored: StoredMemory) -> Topic | None:
    topic = topic_of(stored.path)
    obeyed = topic is not Topic.INSTRUCTIONS or is_vouched_for(stored.memory)
    return topic if obeyed else None


def _rank(stored: StoredMemory) -> tuple[int, float, str]:
    memory = stored.memory
    return -memory.strength, -memory.created_at.timestamp(), memory.memory_id


def _kept(entries: Sequence[StoredMemory], previous: str, chosen: Collection[str]) -> set[str]:
    shown = set(pointed_ids(previous))
    still = (s for s in sorted(entries, key=_rank) if s.memory.memory_id in shown)
    before = [stored.memory.memory_id for stored in still if _says_something(stored)]
    dropped = [name for name in before if name not in chosen]
    may_go = len(before) // 4
    return set(dropped[: max(len(dropped) - may_go, 0)])
