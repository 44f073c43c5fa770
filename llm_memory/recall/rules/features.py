"""What is known of a candidate and of a whole answer, as numbers that a fitted model reads. Pure.

Each number means the same with every embedder: a similarity is in standard deviations above what
that embedder calls near by chance, coverage is a share of the question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ...text.normalising import estimate_tokens
from ...text.stated import SENTENCE

LONG: Final = 30
"""Tokens from which on a text is long."""
_READ: Final = 4 * LONG
"""Characters that hold as many tokens at least."""


@dataclass(frozen=True, slots=True)
class Features:
    """One candidate.

    Attributes:
        near: Its similarity, in standard deviations above chance; 0 without an embedder.
        covered: The share of the question that it speaks of, 0 to 1.
        words: Its score in the index of words, 0 to 1, of which 1 is the best of the answer.
        verbatim: 1 where it holds the whole question word for word.
        time: 1 where it lies in a time that the question names, or tells of it.
        speaker: 1 for words of who asks of themselves.
        recent: 0 to 1, 1 for what was said just now.
        salient: -0.5 to 1, by its strength and how often it served.
        stated: How much it states, 0 to 1, of which 1 is ``LONG`` tokens or more without what it
            asks.
    """

    near: float = 0.0
    covered: float = 0.0
    words: float = 0.0
    verbatim: float = 0.0
    time: float = 0.0
    speaker: float = 0.0
    recent: float = 0.0
    salient: float = 0.0
    stated: float = 0.0


NEAR_AND_WORDS: Final = ("near", "covered", "words", "verbatim", "stated")
"""What tells whether a candidate answers, whoever said it when."""


@dataclass(frozen=True, slots=True)
class Message:
    """What is known of a question before it is asked.

    Attributes:
        tokens: Its length without times.
        asks: 1 for a question or a request by its form, else 0.
        probe: How much its vector is like that of a question, in log-odds; 0 where no probe fits
            the embedder.
    """

    tokens: int
    asks: float
    probe: float = 0.0


def recency(age_days: float) -> float:
    """``1 / (1 + ln(1 + age))``: 1 for now, 0.5 for 1.7 days, 0.22 for a month."""
    return 1.0 / (1.0 + math.log1p(max(age_days, 0.0)))


def stated(text: str) -> float:
    """See ``Features``."""
    sentences = SENTENCE.findall(text[:_READ])
    return min(sum(estimate_tokens(one) for one in sentences if one[-1] not in "?？"), LONG) / LONG


def of_answer(message: Message, ordered: Sequence[Features]) -> dict[str, float]:
    """What tells whether anything answers. ``ordered``: the candidates, best first.

    How far the best stands out is no part of it: the more is known of a thing, the less one memory
    of it does.
    """
    return {
        "near": max((one.near for one in ordered), default=0.0),
        "covered": max((one.covered for one in ordered), default=0.0),
        "covered_by_first": ordered[0].covered if ordered else 0.0,
        "asks": message.asks,
        "length": min(message.tokens, LONG) / LONG,
        "probe": message.probe,
    }
