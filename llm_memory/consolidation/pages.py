"""Writes MEMORY.md between its marks: what a scope remembers, for people who look at its folder.

Nothing in it is an order to anybody: only what somebody vouches for stands under the standing
instructions, and whatever is unvouched stands between quotation marks with its speaker.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from heapq import nsmallest
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.closing import holding
from ..catalogue.rules.event_day import told_day
from ..catalogue.rules.proposals import accepted_as, is_proposed
from ..catalogue.rules.timeline import is_digest, written_day
from ..models.data_models import UNDATED, Memory, StoredMemory, Topic, shown_day
from ..models.decisions import record_name
from ..models.scope import Scope, ScopeFilter
from ..models.status import Notice
from ..models.vault_layout import MEMORY_PAGE, PRIMER_PAGE, archive_path, part_path, topic_of
from ..remember.deeds import Deeds
from ..runtime.cooperative import cooperative
from ..runtime.notice_board import NoticeBoard
from ..runtime.shielded import shielded
from ..text.normalising import clean, preview
from ..text.safe_text import shown_name
from ..vault.markdown.entry import ID_PATTERN
from ..vault.marked_page import KEPT, rewrite
from ..vault.pages import PagesOnDisk, text_of
from .report import SleepReport

_ID: Final = re.compile(ID_PATTERN)
_TITLE: Final = ("记忆概览", "What is remembered")
"""In Chinese and in English."""


_LISTED: Final = 8
"""Of each topic the strongest, of the journal the last."""
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


@dataclass(eq=False)
class MemoryPages:
    """A scope's page holds nothing of another scope, not even of the public one."""

    _pages: PagesOnDisk
    _catalogue: Catalogue
    _corrected: Deeds
    _notices: NoticeBoard
    _english: bool
    _cleared: dict[str, int] = field(default_factory=dict, init=False)
    """By scope, how many corrections there were when its former texts were last looked through."""

    async def run(self, scope: Scope) -> SleepReport:
        """Write what has changed. Raises VaultWriteFailed."""
        if not self._cleared:
            await asyncio.to_thread(self._pages.open)
        living = list(self._catalogue.visible(ScopeFilter((scope,))))
        entries = (one for one in cooperative(living) if not is_digest(one.memory))
        told = await asyncio.to_thread(memory_page, entries, english=self._english)
        done = await self._write(scope, MEMORY_PAGE, told)
        # What earlier versions wrote there goes: that page is a person's.
        done = done.plus(await self._write(scope, PRIMER_PAGE, ""))
        corrections = self._corrected.changes[scope.name]
        if done.pages or self._cleared.get(scope.name) != corrections:
            await shielded(asyncio.to_thread(self._clear_former, scope))
            self._cleared[scope.name] = corrections
        return done

    async def _write(self, scope: Scope, name: str, text: str) -> SleepReport:
        english, subject = self._english, f"{scope.name}/{name}"
        write = partial(rewrite, title=_TITLE[english], english=english)
        step = asyncio.to_thread(write, self._pages, scope, name, lambda _: text)
        if (written := await shielded(step)) is None:
            params = {"scope": scope.name, "path": name}
            self._notices.post(Notice("page_left", subject, params))
            return SleepReport(left=1)
        self._notices.clear("page_left", subject)
        return SleepReport(pages=int(written))

    def _clear_former(self, scope: Scope) -> None:
        """Remove lines that hold what was corrected from the former texts, and whole lines: one may
        hold the beginning of an entry only. Raises VaultWriteFailed."""
        corrected = {one.memory_id for one in self._corrected.of_scope(scope.name)}

        def stays(line: str) -> bool:
            told = corrected.isdisjoint(_ID.findall(line))
            return told and self._corrected.texts.text_cleared(scope.name, line) == line

        names = [part_path(name, n + 1) for name in (MEMORY_PAGE, PRIMER_PAGE) for n in range(KEPT)]
        for path in map(archive_path, names):
            page = self._pages.read(scope, path)
            lines = (text_of(page) or "").splitlines(keepends=True)
            left = "".join(filter(stays, cooperative(lines)))
            if left != "".join(lines):
                self._pages.write(scope, path, left.encode(), page)


def memory_page(entries: Iterable[StoredMemory], *, english: bool = False) -> str:
    """The lines between the bot's marks, from all living entries of one scope. What something has
    settled is not told."""
    by_heading: dict[Topic | None, list[StoredMemory]] = {}
    for stored in holding(entries):
        topic = topic_of(stored.path)
        obeyed = topic is not Topic.INSTRUCTIONS or _is_vouched_for(stored.memory)
        by_heading.setdefault(topic if obeyed else None, []).append(stored)
    order = {topic: said[english] for topic, said in _HEADINGS.items() if topic in by_heading}
    counts = " · ".join(f"{name} {len(by_heading[topic])}" for topic, name in order.items())
    total = sum(map(len, by_heading.values()))
    lines = [f"{total} memories: {counts}" if english else f"共 {total} 条记忆：{counts}"]
    for topic, name in order.items():
        rank = _last_first if topic is Topic.JOURNAL else _strongest_first
        shown = nsmallest(_LISTED, by_heading[topic], key=rank)
        lines += ["", f"### {name}", "", *(line_of(one, english=english) for one in shown)]
        if more := len(by_heading[topic]) - len(shown):
            lines.append(f"- … {more} more" if english else f"- ……还有 {more} 条")
    return "\n".join(lines) + "\n" if order else ""


def line_of(stored: StoredMemory, *, english: bool = False) -> str:
    """One entry on one line of a page, and of a proposal what became of it."""
    memory, who = stored.memory, shown_name(stored.memory.who)
    words = inert(memory.judgment)
    if _is_vouched_for(memory):
        said = f"{who}{': ' if english else '：'}{words}" if who else words
    else:
        said = (
            f'{who or "somebody"} said: "{words}"' if english else f"{who or '有人'}说：“{words}”"
        )
    if is_proposed(memory):
        said += " (not decided)" if english else "（未决）"
    elif number := accepted_as(memory):
        said += f" ({record_name(number)})" if english else f"（{record_name(number)}）"
    date = shown_day(told_day(memory), "undated" if english else UNDATED)
    return f"- {date} {said} ({stored.pointer})"


def inert(text: str) -> str:
    """Somebody's words on one line of a page: they end no comment, begin none, and make no entry of
    the line."""
    line = preview(clean(text), _PREVIEW)
    return line.replace("<!--", "&lt;!--").replace("-->", "--&gt;").replace("^m-", "\\^m-")


def _is_vouched_for(memory: Memory) -> bool:
    """True for what may be told as it stands: a trusted speaker's, and no quotation."""
    return memory.provenance.trusted and not memory.quoted


def _strongest_first(stored: StoredMemory) -> tuple[float, ...]:
    return -stored.memory.strength, -stored.memory.created_at.timestamp()


def _last_first(stored: StoredMemory) -> tuple[float, ...]:
    return -written_day(stored).toordinal(), *_strongest_first(stored)
