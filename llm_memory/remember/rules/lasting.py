"""Tells what will not last: what is still open, and what holds for now."""

from __future__ import annotations

import re
from typing import Final

_MENTIONED: Final = re.compile(r"“[^”]*”|「[^」]*」|\"[^\"]*\"|`[^`]*`")
"""Words that are spoken of, not said."""
_WORDS: Final = {
    "dispute": re.compile(r"待定|\bTB[DC]\b|[?？](?=\s*\Z)", re.IGNORECASE),
    "stale": re.compile(
        r"暂时(?!性)|\b(?:for now|temporarily|for the time being)\b", re.IGNORECASE
    ),
}


def passing(text: str) -> dict[str, str]:
    """Returns why a statement will not last, ``dispute`` or ``stale``, and the words that say
    so."""
    said = _MENTIONED.sub("", text)
    found = {reason: words.search(said) for reason, words in _WORDS.items()}
    return {reason: match[0] for reason, match in found.items() if match is not None}
