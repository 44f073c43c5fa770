"""MEMORY.md and PRIMER.md of a scope: between the bot's marks, the text before kept."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..log import logger
from ..models.notices import Notice, NoticeCode
from ..models.scope import Scope, ScopeFilter
from ..models.vault_layout import MEMORY_PAGE, PRIMER_PAGE, archive_path, part_path
from ..remember.corrected_statements import CorrectedStatements
from ..remember.corrected_texts import EVER
from ..runtime.notice_board import NoticeBoard
from ..runtime.shielded import shielded
from ..vault.markdown.entry import ID_PATTERN
from ..vault.marked_page import KEPT, rewrite
from ..vault.pages import PagesOnDisk, text_of
from .rules.overview import memory_page

_ID: Final = re.compile(ID_PATTERN)
_TITLES: Final = {
    MEMORY_PAGE: ("记忆概览", "What is remembered"),
    PRIMER_PAGE: ("开场摘要", "What a conversation begins with"),
}
"""In Chinese and in English."""

type PrimerPage = Callable[[Scope], str]
"""What a conversation that comes back is told of a scope's own entries. Asked in the event loop."""


@dataclass(frozen=True, slots=True)
class Pages:
    """How many were written, and how many were left alone."""

    written: int = 0
    left: int = 0


class Overviews:
    """Nothing of another scope stands in a scope's pages, not even what is public."""

    def __init__(
        self,
        pages: PagesOnDisk,
        catalogue: Catalogue,
        corrected: CorrectedStatements,
        notices: NoticeBoard,
        primer: PrimerPage,
        *,
        english: bool,
    ) -> None:
        self._pages = pages
        self._catalogue = catalogue
        self._corrected = corrected
        self._notices = notices
        self._primer = primer
        self._english = english

    async def run(self, scope: Scope) -> Pages:
        """Write what has changed. Raises VaultWriteFailed."""
        living = list(self._catalogue.visible(ScopeFilter((scope,))))
        entries = await asyncio.to_thread(self._corrected.texts.without_former, living, living)
        told = self._primer(scope) if entries else ""

        def memory(previous: str) -> str:
            return memory_page(entries, previous, english=self._english) if entries else ""

        def primer(_: str) -> str:
            return told

        written = left = 0
        for name, make in ((MEMORY_PAGE, memory), (PRIMER_PAGE, primer)):
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
                self._notices.post(Notice(NoticeCode.PAGE_LEFT, subject, params))
            else:
                written += int(done)
                if done:
                    logger.debug("nightly tidy-up: {}/{} written", scope.name, name)
                self._notices.clear(NoticeCode.PAGE_LEFT, subject)
            await shielded(asyncio.to_thread(self._clear_drafts, scope, name))
        return Pages(written, left)

    def _clear_drafts(self, scope: Scope, name: str) -> None:
        """Take out of the former texts what was corrected. Raises VaultWriteFailed."""
        for number in range(1, KEPT + 1):
            path = archive_path(part_path(name, number))
            page = self._pages.read(scope, path)
            text = text_of(page)
            if text and (left := self._cleared(scope, text)) != text:
                self._pages.write(scope, path, left.encode(), page)

    def _cleared(self, scope: Scope, text: str) -> str:
        """Whole lines go: one may hold no more than the beginning of an entry."""
        corrected = {one.memory_id for one in self._corrected.of_scope(scope.name)}
        return "".join(
            line
            for line in text.splitlines(keepends=True)
            if corrected.isdisjoint(_ID.findall(line))
            and self._corrected.texts.text_cleared(scope.name, line, EVER) == line
        )
