"""Writes MEMORY.md of a scope between its marks, and keeps its former texts."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.timeline import is_digest
from ..log import logger
from ..models.scope import Scope, ScopeFilter
from ..models.status import Notice
from ..models.vault_layout import MEMORY_PAGE, PRIMER_PAGE, archive_path, part_path
from ..remember.deeds import Deeds
from ..runtime.notice_board import NoticeBoard
from ..runtime.shielded import shielded
from ..vault.markdown.entry import ID_PATTERN
from ..vault.marked_page import KEPT, rewrite
from ..vault.pages import PagesOnDisk, text_of
from .report import SleepReport
from .rules.overview import memory_page

_ID: Final = re.compile(ID_PATTERN)
_TITLES: Final = {
    MEMORY_PAGE: ("记忆概览", "What is remembered"),
    PRIMER_PAGE: ("开场摘要", "What a conversation begins with"),
}
"""In Chinese and in English."""


class Overviews:
    """A scope's pages hold nothing of another scope, not even of the public one."""

    def __init__(
        self,
        pages: PagesOnDisk,
        catalogue: Catalogue,
        corrected: Deeds,
        notices: NoticeBoard,
        *,
        english: bool,
    ) -> None:
        self._pages = pages
        self._catalogue = catalogue
        self._corrected = corrected
        self._notices = notices
        self._english = english
        self._opened = False

    async def run(self, scope: Scope) -> SleepReport:
        """Write what has changed. Raises VaultWriteFailed."""
        if not self._opened:
            await asyncio.to_thread(self._pages.open)
            self._opened = True
        living = list(self._catalogue.visible(ScopeFilter((scope,))))
        entries = [stored for stored in living if not is_digest(stored.memory)]

        def memory(previous: str) -> str:
            return memory_page(entries, previous, english=self._english) if entries else ""

        written = left = 0
        # What earlier versions wrote into PRIMER.md goes: that page is a person's.
        for name, make in ((MEMORY_PAGE, memory), (PRIMER_PAGE, lambda _: "")):
            write = partial(
                rewrite,
                title=_TITLES[name][self._english],
                english=self._english,
                cleared=partial(self._cleared, scope),
            )
            done = await shielded(asyncio.to_thread(write, self._pages, scope, name, make))
            subject = f"{scope.name}/{name}"
            if done is None:
                left += 1
                params = {"scope": scope.name, "path": name}
                self._notices.post(Notice("page_left", subject, params))
            else:
                written += int(done)
                if done:
                    logger.debug("nightly tidy-up: {}/{} written", scope.name, name)
                self._notices.clear("page_left", subject)
            await shielded(asyncio.to_thread(self._clear_drafts, scope, name))
        return SleepReport(pages=written, left=left)

    def _clear_drafts(self, scope: Scope, name: str) -> None:
        """Remove what was corrected from the former texts. Raises VaultWriteFailed."""
        for number in range(1, KEPT + 1):
            path = archive_path(part_path(name, number))
            page = self._pages.read(scope, path)
            text = text_of(page)
            if text and (left := self._cleared(scope, text)) != text:
                self._pages.write(scope, path, left.encode(), page)

    def _cleared(self, scope: Scope, text: str) -> str:
        """Returns the text without lines that hold what was corrected. Whole lines go: one may hold
        the beginning of an entry only."""
        corrected = {one.memory_id for one in self._corrected.of_scope(scope.name)}
        return "".join(
            line
            for line in text.splitlines(keepends=True)
            if corrected.isdisjoint(_ID.findall(line))
            and self._corrected.texts.text_cleared(scope.name, line) == line
        )
