"""Filters a model's tags and questions for a memory. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...catalogue.rules.timeline import DIGEST_TAG
from ...remember.rules.gate import MAX_ASK, MAX_TAG, order_like
from ...text.normalising import clean, normalise, one_line

_MARK = re.compile("[#^][mn]-")
"""Matches the beginning of a pointer or an entry's id."""


def usable_tags(tags: Iterable[str], judgment: str) -> tuple[str, ...]:
    """Returns tags that add search words. Words of the memory itself add nothing; an order, a
    pointer or a digest's tag would misrepresent it."""
    said = normalise(judgment)
    found: dict[str, str] = {}
    for tag in (one_line(clean(tag)) for tag in tags):
        word = normalise(tag)
        if not word or word in said or len(tag) > MAX_TAG or tag == DIGEST_TAG:
            continue
        if order_like(tag) is None and not _MARK.search(tag):
            found.setdefault(word, tag)
    return tuple(found.values())


def usable_asks(asks: Iterable[str], judgment: str) -> tuple[str, ...]:
    """Returns the questions that a memory answers. The memory itself again, an order, a pointer or
    a whole text is none."""
    said = normalise(judgment)
    found: dict[str, str] = {}
    for ask in (one_line(clean(ask)) for ask in asks):
        words = normalise(ask)
        if not words or words == said or len(ask) > MAX_ASK:
            continue
        if order_like(ask) is None and not _MARK.search(ask):
            found.setdefault(words, ask)
    return tuple(found.values())
