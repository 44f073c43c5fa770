"""Orders the candidates of one question, and decides whether any of them answers. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .features import NEAR_AND_WORDS, Features, Message, of_answer
from .weights import RecallWeights, order_terms

BEYOND_CHANCE: Final = 2.5
"""Standard deviations: the nearest of a hundred memories is so near by chance alone."""
_MILDER: Final = 1.0
"""Log-odds by which the gap is wider while places are free."""
_LITTLE: Final = 0.2
"""Of a question: what speaks of less is no answer, whatever the others do."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One question's.

    Attributes:
        chance: The probability that anything answers.
        values: What it was decided by, by the names of ``of_answer``.
        terms: What the score of each candidate is the sum of.
        scores: What each candidate is ordered by, in the order in which they came.
        factors: What time, speaker and salience make of the odds; it is in the score already.
        shares: ``exp(score - best score)`` of each.
        related: Whether each shares a word with the question, or lies near to it.
        within: What is shown unasked has at least the best score less this, of each.
    """

    chance: float
    values: Mapping[str, float]
    terms: Sequence[Mapping[str, float]]
    scores: Sequence[float]
    factors: Sequence[float]
    shares: Sequence[float]
    related: Sequence[bool]
    within: Sequence[float]

    def is_weak(self, place: int, *, floor: float) -> bool:
        """True for a candidate that is not shown unasked. With a floor of 0 none is weak."""
        return self.chance < floor or (
            floor > 0 and self.shares[place] < math.exp(-self.within[place])
        )

    def relevance(self, place: int, *, in_talk: bool, floor: float) -> float:
        """0 to 1; negative for what is not shown: unasked what is weak, to who searches what has
        nothing to do with the question."""
        related = self.related[place] or floor <= 0
        shown = not self.is_weak(place, floor=floor) if in_talk else related
        value = self.chance * self.shares[place]
        return value if shown else value - 1.0


def decide(
    weights: RecallWeights,
    trust: float,
    message: Message,
    rows: Sequence[Features],
    places: int = 0,
) -> Decision:
    """``trust``: how far the embedder is trusted, 0 to 1; ``places``: how many can be shown. While
    some are free, what speaks of as much as half of what the best does may lie further behind."""
    model = weights.order.at(trust)
    terms = [order_terms(model, row) for row in rows]
    scores = [sum(own.values()) for own in terms]
    bases = [sum(own[name] for name in NEAR_AND_WORDS) for own in terms]
    ordered = sorted(range(len(rows)), key=lambda place: -scores[place])
    values = of_answer(message, [rows[i] for i in ordered])
    best = max(scores, default=0.0)
    half = rows[ordered[0]].covered / 2 if rows else 0.0
    free = {place for place in ordered[:places] if rows[place].covered >= max(half, _LITTLE)}
    return Decision(
        chance=weights.chance(trust, values) if rows else 0.0,
        values=values,
        terms=terms,
        scores=scores,
        factors=[math.exp(score - base) for score, base in zip(scores, bases, strict=True)],
        shares=[math.exp(score - best) for score in scores],
        related=[row.covered > 0 or row.near >= BEYOND_CHANCE for row in rows],
        within=[weights.within + _MILDER * (place in free) for place in range(len(rows))],
    )
