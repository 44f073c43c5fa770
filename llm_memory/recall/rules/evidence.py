"""How likely a candidate is to answer: what both arms found, as one probability. Pure.

A logistic model. A memory's evidence is the share of the question that it covers, and how near its
vector is to it beyond chance, in standard deviations that an examination of the embedder told. The
fewer memories are visible, the less likely one of them is near by chance. The constants are those
with which ``benchmarks/retrieval.py`` and ``everyday.py`` speak most while they stay silent.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace

from ...text.language import Language

FEWEST, MANY = 10, 100
"""Visible memories between which it matters how many there are."""
LENGTH = 1.5
"""Of the logarithm of a long question's length: an answer holds a smaller share of it."""
_LONG, _LONGEST = 15, 100
"""Tokens: from where on a question is long, and how long the longest is that was measured."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What an embedder calls near by chance for one question: mean and standard deviation of its
    similarities to texts that have nothing to do with it."""

    mean: float = 0.0
    deviation: float = 0.1

    def above_chance(self, similarity: float) -> float:
        """In standard deviations; 0 for an embedder that sees no differences."""
        return (similarity - self.mean) / self.deviation if self.deviation > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Weights:
    """What each kind of evidence counts.

    Attributes:
        words: Of the share of the question that a memory covers.
        near: Of each standard deviation of its similarity above chance.
        few: Of the logarithm of how few memories are visible.
        enough: With so much of all that it is as likely an answer as not.
        remark: So much more is asked of what answers a short message that is no question: 周五了.
    """

    words: float
    near: float
    few: float
    enough: float
    remark: float

    def towards(self, other: Weights, share: float) -> Weights:
        """On the way from these to the ``other`` ones, 0 to 1."""
        pairs = (
            (self.words, other.words),
            (self.near, other.near),
            (self.few, other.few),
            (self.enough, other.enough),
            (self.remark, other.remark),
        )
        return Weights(*(own + (its - own) * share for own, its in pairs))


WORDS_ALONE = {
    Language.CHINESE: Weights(words=7.0, near=0.0, few=0.4, enough=3.2, remark=1.5),
    Language.ENGLISH: Weights(words=7.0, near=0.0, few=0.4, enough=2.6, remark=1.5),
}
BOTH = Weights(words=4.0, near=0.8, few=1.2, enough=4.7, remark=3.0)
"""With an embedder of full trust, which finds most of what words do."""
VECTORS_ALONE = Weights(words=0.0, near=1.0, few=1.2, enough=4.7, remark=3.0)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, as far as it concerns what is enough.

    Attributes:
        language: None where it is in neither; then what asks for most is taken.
        tokens: Its length.
        among: So many memories the asker sees, as far as that matters.
        remark: It is a message of a talk, and no question as far as its form tells.
    """

    language: Language | None
    tokens: int
    among: int = MANY
    remark: bool = False

    @property
    def words_alone(self) -> Weights:
        """What counts where no embedder is trusted."""
        if self.language is None:
            return max(WORDS_ALONE.values(), key=lambda weights: weights.enough)
        return WORDS_ALONE[self.language]

    def log_odds(self, weights: Weights, covered: float, beyond: float) -> float:
        """That a memory answers which covers so much, and is so many deviations above chance."""
        length = LENGTH * math.log(min(max(self.tokens, _LONG), _LONGEST) / _LONG)
        few = weights.few * math.log(MANY / min(max(self.among, FEWEST), MANY))
        # The greater of the two: a long remark among three memories would be answered by each.
        lenience = max(length, few)
        enough = weights.enough + (weights.remark if self.remark and self.tokens <= _LONG else 0.0)
        return weights.words * covered + weights.near * beyond + lenience - enough


def evidence[K: Hashable](
    asked: Asked,
    coverages: Mapping[K, float] | None,
    similarities: Mapping[K, float],
    *,
    scale: Scale,
    weight: float,
    behind: Collection[K] = (),
) -> dict[K, float]:
    """The logarithm of the odds that each answers.

    Args:
        asked: The question.
        coverages: What the words' arm found, None where it was not asked.
        similarities: What the embedder found, the nearest of all. What it did not name is no
            nearer than the last of them.
        scale: What it calls near by chance.
        weight: How far the embedder is trusted, 0 to 1.
        behind: What the embedder's index cannot know yet: of those the words alone tell.
    """
    alone = asked.words_alone
    weights = VECTORS_ALONE if coverages is None else alone.towards(BOTH, weight)
    covered = coverages or {}
    far = min(similarities.values(), default=scale.mean)
    found = {
        key: asked.log_odds(
            weights, covered.get(key, 0.0), scale.above_chance(similarities.get(key, far))
        )
        for key in covered.keys() | similarities.keys()
    }
    # Of a remark as much is asked as where the embedder knows all: what was just said shares its
    # words with what is said next.
    words_alone = replace(alone, remark=weights.remark)
    for key in behind:
        if key in covered and key not in similarities:
            found[key] = asked.log_odds(words_alone, covered[key], 0.0)
    return found


def probability(log_odds: float) -> float:
    """0 to 1."""
    return 1 / (1 + math.exp(-max(min(log_odds, 50.0), -50.0)))
