"""Short words in texts that hold random ids, digests or ports."""

from __future__ import annotations

import re


def stands_in(word: str, text: str) -> bool:
    """True if the word stands in the text by itself. A digest may hold any short word by chance."""
    return re.search(rf"(?<![0-9A-Za-z]){re.escape(word)}(?![0-9A-Za-z])", text) is not None
