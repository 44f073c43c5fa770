"""Writes MEMORY.md between its marks: what a scope remembers, for people who look at its folder.

Nothing in it is an order to anybody: only what somebody vouches for stands under the standing
instructions, and whatever is unvouched stands between quotation marks with its speaker.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from heapq import nsmallest
from itertools import product
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.closing import holding
from ..catalogue.rules.event_day import told_day
from ..catalogue.rules.proposals import accepted_as, is_proposed
from ..catalogue.rules.timeline import is_digest, written_day
from ..models.data_models import Memory, StoredMemory, Topic, shown_day
from ..models.decisions import record_name
from ..models.scope import Scope, ScopeFilter
from ..models.status import Notice
from ..models.vault_layout import MEMORY_PAGE, PRIMER_PAGE, archive_path, part_path, topic_of
from ..remember.deeds import Deeds
from ..runtime.cooperative import cooperative
from ..runtime.lifecycle import shielded
from ..runtime.notice_board import NoticeBoard
from ..text.normalising import clean, preview
from ..text.safe_text import shown_name
from ..texts import Texts
from ..vault.markdown.entry import ID_PATTERN
from ..vault.marked_page import KEPT, rewrite
from ..vault.pages import PagesOnDisk, text_of
from .report import SleepReport

_ID: Final = re.compile(ID_PATTERN)
_LISTED: Final = 8
"""Of each topic the strongest, of the journal the last."""
_PREVIEW: Final = 80
_HEADINGS: Final = (
    *("instructions", "preferences", "entities", "decisions", "patterns", "tasks", "journal"),
    "others",
)


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
        living = list(self._catalogue.visible(ScopeFilter((scope,))))
        written = await shielded(asyncio.to_thread(self._renewed, scope, living))
        for name, done in written.items():
            subject = f"{scope.name}/{name}"
            if done is None:
                params = {"scope": scope.name, "path": name}
                self._notices.post(Notice("page_left", subject, params))
            else:
                self._notices.clear("page_left", subject)
        told = Counter(written.values())
        return SleepReport(pages=told[True], left=told[None])

    def _renewed(self, scope: Scope, living: Iterable[StoredMemory]) -> dict[str, bool | None]:
        """Write the pages. Returns by name whether that was needed, None for one left alone."""
        if not self._cleared:
            self._pages.open()
        texts = Texts.of("en" if self._english else "zh")
        page = memory_page((s for s in cooperative(living) if not is_digest(s.memory)), texts)
        write = partial(rewrite, title=texts.say("page.title"), english=self._english)
        written = {
            MEMORY_PAGE: write(self._pages, scope, MEMORY_PAGE, lambda _: page),
            # What earlier versions wrote there goes: that page is a person's.
            PRIMER_PAGE: write(self._pages, scope, PRIMER_PAGE, lambda _: ""),
        }
        corrections = self._corrected.changes[scope.name]
        if True in written.values() or self._cleared.get(scope.name) != corrections:
            self._clear_former(scope)
            self._cleared[scope.name] = corrections
        return written

    def _clear_former(self, scope: Scope) -> None:
        """Remove lines that hold what was corrected from the former texts, and whole lines: one may
        hold the beginning of an entry only. Raises VaultWriteFailed."""
        corrected = {one.memory_id for one in self._corrected.of_scope(scope.name)}
        cleared = partial(self._corrected.texts.text_cleared, scope.name)
        for name, number in product((MEMORY_PAGE, PRIMER_PAGE), range(1, KEPT + 1)):
            path = archive_path(part_path(name, number))
            page = self._pages.read(scope, path)
            text = text_of(page) or ""
            left = "".join(
                line
                for line in cooperative(text.splitlines(keepends=True))
                if corrected.isdisjoint(_ID.findall(line)) and cleared(line) == line
            )
            if left != text:
                self._pages.write(scope, path, left.encode(), page)


def memory_page(entries: Iterable[StoredMemory], texts: Texts) -> str:
    """The lines between the bot's marks, from all living entries of one scope. What something has
    settled is not told."""
    found: dict[str, list[StoredMemory]] = {name: [] for name in _HEADINGS}
    for stored in holding(entries):
        topic = topic_of(stored.path)
        obeyed = topic is not Topic.INSTRUCTIONS or _is_vouched_for(stored.memory)
        found[topic.value.lower() if topic and obeyed else "others"].append(stored)
    told = {name: some for name, some in found.items() if some}
    counts = " · ".join(f"{texts.say(f'page.{name}')} {len(told[name])}" for name in told)
    lines = [texts.say("page.total", total=sum(map(len, told.values())), counts=counts)]
    for name, some in told.items():
        shown = nsmallest(_LISTED, some, key=_rank)
        lines += ["", f"### {texts.say(f'page.{name}')}", "", *(line_of(s, texts) for s in shown)]
        lines += [texts.say("page.more", count=len(some) - _LISTED)] if some[_LISTED:] else []
    return "\n".join(lines) + "\n" if told else ""


def line_of(stored: StoredMemory, texts: Texts) -> str:
    """One entry on one line of a page, and of a proposal what became of it."""
    memory, who = stored.memory, shown_name(stored.memory.who)
    words = inert(memory.judgment)
    if not _is_vouched_for(memory):
        words = texts.say("page.said", who=who or texts.say("page.somebody"), words=words)
    elif who:
        words = texts.say("page.vouched", who=who, words=words)
    number = accepted_as(memory)
    if is_proposed(memory) or number:
        state = record_name(number) if number else texts.say("page.undecided")
        words += texts.say("page.state", state=state)
    return f"- {shown_day(told_day(memory), texts.say('page.undated'))} {words} ({stored.pointer})"


def inert(text: str) -> str:
    """Somebody's words on one line of a page: they end no comment, begin none, and make no entry of
    the line."""
    line = preview(clean(text), _PREVIEW)
    return line.replace("<!--", "&lt;!--").replace("-->", "--&gt;").replace("^m-", "\\^m-")


def _is_vouched_for(memory: Memory) -> bool:
    """True for what may be told as it stands: a trusted speaker's, and no quotation."""
    return memory.provenance.trusted and not memory.quoted


def _rank(stored: StoredMemory) -> tuple[float, ...]:
    """Of a topic the strongest come first, of the journal the last."""
    day = written_day(stored).toordinal() if topic_of(stored.path) is Topic.JOURNAL else 0
    return -day, -stored.memory.strength, -stored.memory.created_at.timestamp()
