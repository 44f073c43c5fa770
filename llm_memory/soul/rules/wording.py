"""An admin's wish as a new text of SOUL.md: one more rule, as it was typed."""

from __future__ import annotations

import re
from typing import Final

from ...text.normalising import clean, one_line
from .soul_text import HABITS, with_rule
from .vocabulary import manner_of, with_manner

_MARK: Final = re.compile(r"^(?:[-*•·]|\d{1,2}[.)、])\s+")


def worded(text: str, wish: str) -> str:
    """Returns the text with the wish as a habit; unchanged for an empty wish. A wish in the words
    of the vocabulary takes the place of its opposite. Whether the rule is allowed is for
    ``checks``."""
    rule = _MARK.sub("", one_line(clean(wish)))
    if not rule:
        return text
    if (manner := manner_of(rule)) is not None:
        return with_manner(text, *manner, "en" if rule.isascii() else "zh")
    return with_rule(text, HABITS, rule)
