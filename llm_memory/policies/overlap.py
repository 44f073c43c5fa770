"""Which texts could answer a query at all: a cheap look before anything is embedded."""

from __future__ import annotations

import heapq
import re
import unicodedata
from collections.abc import Sequence

_WIDE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
_NARROW = re.compile(r"[^\W_]+")
_STEM = 5
_PAIR, _SINGLE = 3, 1


def shortlist(query: str, texts: Sequence[str], limit: int) -> list[int]:
    """Places of at most ``limit`` folded texts that share something with the query, the most first.

    Shared pairs of neighbouring Han characters (kana, Hangul) and beginnings of words count three,
    single characters one. Among equals the later text wins.
    """
    pieces = _pieces(query)
    if not pieces:
        return []
    scored = []
    for place, text in enumerate(texts):
        score = sum(weight for piece, weight in pieces.items() if piece in text)
        if score:
            scored.append((score, place))
    return [place for _, place in heapq.nlargest(limit, scored)]


def _pieces(query: str) -> dict[str, int]:
    folded = fold(query)
    pieces: dict[str, int] = {}
    for run in _WIDE.findall(folded):
        pieces.update(dict.fromkeys(run, _SINGLE))
        pieces.update({run[i : i + 2]: _PAIR for i in range(len(run) - 1)})
    for word in _NARROW.findall(_WIDE.sub(" ", folded)):
        pieces[word[:_STEM]] = _PAIR
    return pieces


def fold(text: str) -> str:
    """What widths and cases have in common: NFKC, case folded."""
    return unicodedata.normalize("NFKC", text).casefold()
