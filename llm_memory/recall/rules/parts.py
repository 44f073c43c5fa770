"""The things that one message asks for, each by itself. Pure."""

from __future__ import annotations

import re
from typing import Final

from ...text.stated import asks
from .talk import is_empty

MOST: Final = 3
"""Things of one message: each costs a recall of its own."""
_CUTS: Final = re.compile(
    r"(?<=[，。！!？?；;\n])|(?<=[\u4e00-\u9fff],)|(?=还有|以及|另外)"
    r"|(?=\band\s+(?:wh\w+|how|is|are|do|does|did)\b)",
    re.IGNORECASE,
)
"""In English a comma parts a clause from what it belongs to: When I was ill, who helped me?"""
_SENTENCES: Final = re.compile(r"(?<=[。！!？?；;\n])")


def parts_of(message: str) -> tuple[str, ...]:
    """Several where the message asks for several things that it names, else the message alone.

    A clause that asks for nothing belongs to the one before it, or to the first.
    """
    parts: list[str] = []
    before = ""
    for clause in _CUTS.split(message):
        if not clause.strip():
            continue
        if len(parts) < MOST and asks(clause) and not is_empty(clause):
            parts.append((before + clause).strip())
            before = ""
        elif parts:
            parts[-1] += clause
        else:
            before += clause
    return tuple(parts) if len(parts) > 1 else (message,)


def only_asks(text: str) -> bool:
    """True where every sentence asks for something: it is no answer to a question."""
    return all(asks(one) for one in _SENTENCES.split(text) if one.strip())
