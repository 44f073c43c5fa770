"""What texts share: their words as sets of pieces, and a cheap look before anything is embedded."""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from typing import Final

from .data import PATTERNS, words_of
from .scripts import NARROW, SPACED, WIDE, fold, simplified

_RUN = re.compile(f"{WIDE.pattern}+")
_LONG_STEM, _SHORT_STEM = 5, 4
_PAIR, _SINGLE = 3, 1
_SMALL: Final = frozenset(words_of("small_words"))


def says_changed(text: str) -> bool:
    """Returns whether a text says of something that it is dropped, moved or done with."""
    return PATTERNS["changed"].search(simplified(text)) is not None


def content(text: str) -> frozenset[str]:
    """Returns a text's Han characters and beginnings of words, without the small ones."""
    folded = fold(text)
    wide = {one for one in WIDE.findall(folded) if one not in _SMALL}
    words = (word for word in NARROW.findall(WIDE.sub(" ", folded)) if word not in _SMALL)
    return frozenset(wide | {word[:_SHORT_STEM] for word in words})


def is_model_worded(text: str, heard: str | None, name: str = "") -> bool:
    """Returns whether a model says something in a speaker's name that the speaker did not say.

    A model repeats what it has read, an attack too. So half of the text or less stands in
    ``heard``, the speaker's own words; None where no model worded the text. ``name``: the
    speaker's, which speakers leave out: 我戒烟了 is 阿芳戒烟了.
    """
    if heard is None:
        return False
    wanted = content(text) - content(name) or content(text)
    return bool(wanted) and 2 * len(wanted & content(heard)) <= len(wanted)


def shortlist(query: str, texts: Sequence[str], limit: int) -> list[int]:
    """Places of at most ``limit`` folded texts that share something with the query, the most first.

    Shared pairs of neighbouring Han characters (kana, Hangul), beginnings of words, and whole
    numbers count three, single characters one. Among equals the later text wins.
    """
    # A hundred other numbers contain a short one: they would push the right text off the list.
    wanted = [(piece, weight, piece.isdecimal()) for piece, weight in pieces(query).items()]
    scored = []
    for place, text in enumerate(texts):
        score = sum(
            weight
            for piece, weight, whole in wanted
            if piece in text and (not whole or holds(text, piece))
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
        found[word if word.isdecimal() else word[:_LONG_STEM]] = _PAIR
    return found


def holds(text: str, word: str) -> bool:
    """True if a folded text holds a folded word: 2026 is not in 120263, and what is written with
    spaces is a whole word there, or its plural: pea is not in peanuts, all not in all-purpose."""
    return word in text and re.search(_whole(word), text) is not None


def _whole(word: str) -> str:
    first, last = (re.match(SPACED, end) is not None for end in (word[:1], word[-1:]))
    before = rf"(?<!{SPACED})(?<!{SPACED}[-'’_])" if first else ""
    before = rf"(?<!{SPACED})(?<!\d[.,])" if word[:1].isdecimal() else before
    after = rf"(?:['’]?s|es)?(?![-'’_]?(?!\d){SPACED}|{SPACED})" if last else ""
    after = r"(?![.,]?\d)" if word[-1:].isdecimal() else after
    return f"{before}{re.escape(word)}{after}"
