"""MEMORY.md and PRIMER.md of a scope: between the bot's marks, the text before kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ..errors import VaultWriteFailed
from ..log import logger
from ..markdown.marked_block import content_of, harmless, put
from ..models.notices import Notice, NoticeCode
from ..models.scope import Scope, ScopeFilter
from ..policies.overview import MEMORY_PAGE, PRIMER_PAGE, memory_page
from ..ports.sleep import Page, ScopePages
from .catalogue import Catalogue
from .notice_board import NoticeBoard
from .to_its_end import to_its_end

KEPT: Final = 3
"""Former texts of each page."""
_TRIES: Final = 5
"""So often a page is written where somebody else writes to it meanwhile."""
_TITLES: Final = {MEMORY_PAGE: "记忆概览", PRIMER_PAGE: "开场摘要"}

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
        pages: ScopePages,
        catalogue: Catalogue,
        notices: NoticeBoard,
        primer: PrimerPage,
    ) -> None:
        self._pages = pages
        self._catalogue = catalogue
        self._notices = notices
        self._primer = primer

    async def run(self, scope: Scope) -> Pages:
        """Write what has changed. Raises VaultWriteFailed."""
        entries = list(self._catalogue.visible(ScopeFilter((scope,))))
        if not entries:
            return Pages()
        told = self._primer(scope)

        def memory(previous: str) -> str:
            return memory_page(entries, previous)

        def primer(_: str) -> str:
            return told

        written = left = 0
        for name, make in ((MEMORY_PAGE, memory), (PRIMER_PAGE, primer)):
            done = await to_its_end(asyncio.to_thread(self._write, scope, name, make))
            subject = f"{scope.name}/{name}"
            if done is None:
                left += 1
                params = {"scope": scope.name, "path": name}
                self._notices.post(Notice(NoticeCode.PAGE_LEFT, subject, params))
            else:
                written += int(done)
                self._notices.clear(NoticeCode.PAGE_LEFT, subject)
        return Pages(written, left)

    def _write(self, scope: Scope, name: str, make: Callable[[str], str]) -> bool | None:
        """True if it was written, False if it is as it should be; None for one that was left alone.

        Raises VaultWriteFailed.
        """
        for _ in range(_TRIES):
            page = self._pages.read(scope, name)
            text = _text(page)
            if text is None:
                return None
            previous = content_of(text)
            content = make(previous)
            if not content and not previous:
                return False
            if previous == harmless(content):
                return False
            whole = put(text, content, title=_TITLES[name])
            if whole is None:
                return None
            if previous.strip():
                # No line of it may be taken for an entry of the archive.
                former = previous.replace("^m-", "\\^m-").replace("\\\\^m-", "\\^m-")
                self._pages.keep(scope, name, former.encode(), most=KEPT)
            if self._pages.write(scope, name, whole.encode(), page):
                logger.debug("夜间整理：写了 {}/{}", scope.name, name)
                return True
        raise VaultWriteFailed(f"{name}: somebody else writes to it all the time")


def _text(page: Page | None) -> str | None:
    """None for what is no UTF-8: every byte of it is somebody's."""
    if page is None:
        return ""
    try:
        text = page.raw.decode()
    except UnicodeDecodeError:
        return None
    return text
