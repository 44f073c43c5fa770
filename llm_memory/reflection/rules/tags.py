"""Which of a model's tags a memory may carry. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...catalogue.rules.timeline import DIGEST_TAG
from ...remember.rules.instructions import order_like
from ...remember.rules.normalise import MAX_TAG
from ...text.normalising import clean, normalise, one_line

_MARK = re.compile("[#^][mn]-")
"""How a pointer and the id of an entry begin."""


def usable_tags(tags: Iterable[str], judgment: str) -> tuple[str, ...]:
    """Other words to ask with. What the memory says itself adds nothing; an order, a pointer, the
    sign of a diary would make of it what it is not."""
    said = normalise(judgment)
    found: dict[str, str] = {}
    for tag in (one_line(clean(tag)) for tag in tags):
        word = normalise(tag)
        if not word or word in said or len(tag) > MAX_TAG or tag == DIGEST_TAG:
            continue
        if order_like(tag) is None and not _MARK.search(tag):
            found.setdefault(word, tag)
    return tuple(found.values())
