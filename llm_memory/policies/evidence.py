"""How likely a candidate is to answer: what both arms found, as one probability. Pure.

A logistic model over what stands out. A memory's evidence is what it covers of the question, and
how near its vector is to it beyond chance, in standard deviations that an examination of the
embedder told. What counts is by how much that exceeds the evidence of the common candidate: a
topic of everybody's, or a question to which all texts of a language are near, proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from heapq import nlargest
from statistics import median

from .language import Language

WORDS = 7.0
"""Of the share of the question that a memory covers, where words are all there is,"""
WORDS_BESIDE = 4.0
"""and beside an embedder of full trust, which finds most of the same."""
NEAR = 0.5
"""Of a standard deviation of its similarity to what has nothing to do with it,"""
NEAR_ALONE = 1.0
"""and where no words were looked for."""
LENGTH = 0.5
"""Of the logarithm of the question's length: of a longer one an answer holds a smaller share."""
_LONG, _SHORTEST = 15, 3
"""Tokens: the length at which nothing is added, and the least that a question is taken to have."""
AMONG = 0.11
"""Of the logarithm of how few are visible: the fewer, the less likely one stands out by chance,"""
FEW, MANY = 10, 100
"""from so many on, and up to so many."""
ENOUGH = {Language.CHINESE: 2.4, Language.ENGLISH: 1.75}
"""What stands out by so much is as likely an answer as not."""
BY_CHANCE = 0.2
"""The most that the common candidate is taken to cover of a question: where all say the same,
each of them may be what is asked for."""
BEYOND_CHANCE = 5.0
"""The same of standard deviations. Small models seldom come so far, even where they are right."""
_CROWD = 100
"""Of so many of the best the common candidate is the middle one,"""
_FEWEST = 40
"""and of so many at least: who has three memories is taken to see others, of no evidence."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What an embedder calls near by chance: mean and standard deviation of the similarities of
    texts that have nothing to do with each other."""

    mean: float = 0.0
    deviation: float = 0.1

    def above_chance(self, similarity: float) -> float:
        """In standard deviations; 0 for an embedder that sees no differences."""
        return (similarity - self.mean) / self.deviation if self.deviation > 0 else 0.0


def standing_out[K: Hashable](
    coverages: Mapping[K, float] | None,
    similarities: Mapping[K, float],
    *,
    scale: Scale,
    weight: float,
    behind: Collection[K] = (),
) -> dict[K, float]:
    """By how much each exceeds the evidence of the common candidate.

    Args:
        coverages: What the words' arm found, None where it was not asked.
        similarities: What the embedder found, the nearest of all. What it did not name is no
            nearer than the last of them.
        weight: How far the embedder is trusted, 0 to 1.
        behind: What the embedder's index cannot know yet: of those the words alone tell.
    """
    near = NEAR * weight if coverages is not None else NEAR_ALONE
    words = WORDS - (WORDS - WORDS_BESIDE) * weight
    far = min(similarities.values(), default=scale.mean)
    told = [
        (key, (coverages or {}).get(key, 0.0), scale.above_chance(similarities.get(key, far)))
        for key in (coverages or {}).keys() | similarities.keys()
    ]
    common = _common(
        words * min(covered, BY_CHANCE) + near * min(beyond, BEYOND_CHANCE)
        for _, covered, beyond in told
    )
    found = {key: words * covered + near * beyond - common for key, covered, beyond in told}
    fresh = [key for key in behind if key in found and key not in similarities]
    if fresh:
        alone = _common(WORDS * min(covered, BY_CHANCE) for _, covered, _ in told)
        found.update({key: WORDS * (coverages or {}).get(key, 0.0) - alone for key in fresh})
    return found


def _common(evidence: Iterable[float]) -> float:
    best = nlargest(_CROWD, evidence)
    return median([*best, *(0.0 for _ in range(_FEWEST - len(best)))])


def probability(
    standing_out: float, language: Language | None, tokens: int, among: int = MANY
) -> float:
    """That it answers, 0 to 1: a question of so many tokens, asked ``among`` so many memories."""
    enough = max(ENOUGH.values()) if language is None else ENOUGH[language]
    length = LENGTH * math.log(max(tokens, _SHORTEST) / _LONG)
    few = AMONG * math.log(MANY / min(max(among, FEW), MANY))
    odds = standing_out + length + few - enough
    return 1 / (1 + math.exp(-max(min(odds, 50.0), -50.0)))
