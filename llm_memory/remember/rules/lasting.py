"""Tells what will not last: a guess, an open dispute, what holds for a few days."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ...models.data_models import RejectReason
from .quality import flaw

_DISPUTE: Final = re.compile(
    r"待定|未定|没定|有争议|再议|再说吧|还没(?:想好|决定)|意见不一|"
    r"\bTB[DC]\b|\b(?:undecided|open question|no consensus|to be (?:decided|discussed)|disputed)\b|"
    r"[?？]\s*\Z",
    re.IGNORECASE,
)
_FOR_NOW: Final = re.compile(
    r"暂时|临时|目前先|这几天|\bfor now\b|\btemporar(?:y|ily)\b|\bfor the time being\b",
    re.IGNORECASE,
)


def passing(text: str) -> Iterator[tuple[str, str]]:
    """Yields why a text will not last, ``guess``, ``dispute`` or ``stale``, and the words that say
    so."""
    if flaw(text) is RejectReason.SPECULATION:
        yield "guess", text
    if (found := _DISPUTE.search(text)) is not None:
        yield "dispute", found[0]
    if (found := _FOR_NOW.search(text)) is not None:
        yield "stale", found[0]
