"""Filters a model's tags and questions for a memory. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from ...remember.rules.gate import MAX_ASK, MAX_TAG, order_like
from ...text.normalising import clean, normalise, one_line

_MARK: Final = re.compile("[#^][mn]-")
"""Matches the beginning of a pointer or an entry's id."""


def usable_tags(tags: Iterable[str], judgment: str) -> tuple[str, ...]:
    """Returns tags that add search words: words of the memory itself add nothing."""
    return _usable(tags, MAX_TAG, normalise(judgment).__contains__)


def usable_asks(asks: Iterable[str], judgment: str) -> tuple[str, ...]:
    """Returns the questions that a memory answers, which is not the memory itself again."""
    return _usable(asks, MAX_ASK, normalise(judgment).__eq__)


def _usable(given: Iterable[str], most: int, is_said: Callable[[str], bool]) -> tuple[str, ...]:
    """Leaves out what misrepresents a memory: an order, a pointer, or a whole text."""
    found: dict[str, str] = {}
    for text in (one_line(clean(one)) for one in given):
        words = normalise(text)
        if not words or is_said(words) or len(text) > most:
            continue
        if order_like(text) is None and not _MARK.search(text):
            found.setdefault(words, text)
    return tuple(found.values())
