"""Rewrites the lines between the bot's marks in a page; the text before goes to the archive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..errors import VaultWriteFailed
from ..models.scope import Place
from .markdown.marked_block import BEGIN, BEGIN_ENGLISH, content_of, harmless, put
from .pages import PagesOnDisk, text_of

KEPT: Final = 3
"""Former texts of each page."""
_TRIES: Final = 5
"""How often a page is written again that an editor writes to meanwhile."""


def rewrite(
    pages: PagesOnDisk,
    place: Place,
    name: str,
    make: Callable[[str], str],
    *,
    title: str,
    english: bool,
) -> bool | None:
    """Put what ``make`` returns between the marks. Blocks.

    Args:
        make: Gives the new lines, from those that stand there.
        title: Of a new page, without marks.

    Returns:
        True if it was written, False if it is as it should be; None for a page that was left alone:
        its marks are damaged, or it is no UTF-8.

    Raises:
        VaultWriteFailed: also for ``shared/``.
    """
    for _ in range(_TRIES):
        page = pages.read(place, name)
        text = text_of(page)
        if text is None:
            return None
        previous = content_of(text)
        content = make(previous)
        if not content and not previous:
            return False
        if previous == harmless(content):
            return False
        whole = put(text, content, title=title, begin=BEGIN_ENGLISH if english else BEGIN)
        if whole is None:
            return None
        if previous.strip():
            # No line of it may be taken for an entry of the archive.
            former = previous.replace("^m-", "\\^m-").replace("\\\\^m-", "\\^m-")
            pages.keep(place, name, former.encode(), most=KEPT)
        if pages.write(place, name, whole.encode(), page):
            return True
    raise VaultWriteFailed(f"{name}: somebody else writes to it all the time")
