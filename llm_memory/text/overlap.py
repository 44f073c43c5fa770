"""Which texts could answer a query at all: a cheap look before anything is embedded."""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence

from .scripts import NARROW, WIDE, fold

__all__ = ["fold", "holds", "pieces", "shortlist"]

_RUN = re.compile(f"{WIDE.pattern}+")
_STEM = 5
_PAIR, _SINGLE = 3, 1


def shortlist(query: str, texts: Sequence[str], limit: int) -> list[int]:
    """Places of at most ``limit`` folded texts that share something with the query, the most first.

    Shared pairs of neighbouring Han characters (kana, Hangul), beginnings of words, and whole
    numbers count three, single characters one. Among equals the later text wins.
    """
    wanted = pieces(query)
    if not wanted:
        return []
    # A hundred other numbers contain a short one: they would push the right text off the list.
    whole = {piece: re.compile(rf"(?<!\d){piece}(?!\d)") for piece in wanted if piece.isdecimal()}
    scored = []
    for place, text in enumerate(texts):
        score = sum(
            weight
            for piece, weight in wanted.items()
            if piece in text and (piece not in whole or whole[piece].search(text))
        )
        if score:
            scored.append((score, place))
    return [place for _, place in heapq.nlargest(limit, scored)]


def pieces(query: str) -> dict[str, int]:
    """What a text is searched for, and how much each piece counts."""
    folded = fold(query)
    found: dict[str, int] = {}
    for run in _RUN.findall(folded):
        found.update(dict.fromkeys(run, _SINGLE))
        found.update({run[i : i + 2]: _PAIR for i in range(len(run) - 1)})
    for word in NARROW.findall(WIDE.sub(" ", folded)):
        found[word if word.isdecimal() else word[:_STEM]] = _PAIR
    return found


def holds(text: str, word: str) -> bool:
    """True if a folded text holds a folded word, whose numbers are whole numbers there: 2026 is not
    in 120263."""
    before = r"(?<!\d)" if word[:1].isdecimal() else ""
    after = r"(?!\d)" if word[-1:].isdecimal() else ""
    if word not in text or not (before or after):
        return word in text
    return re.search(f"{before}{re.escape(word)}{after}", text) is not None
