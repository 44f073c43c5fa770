"""The fitted models of recall: what orders candidates, and what decides whether to speak. Pure.

Logistic models with signs that were constrained in the fit: more of what speaks for an answer
never lowers it. ``benchmarks/fit.py`` writes them into ``weights.json``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Final

from .features import Features

_CANDIDATE: Final = tuple(field.name for field in fields(Features))
_read = attrgetter(*_CANDIDATE)


@dataclass(frozen=True, slots=True)
class Linear:
    """``bias + sum(weights[name] * value[name])``, in log-odds. A value without weight is 0."""

    weights: Mapping[str, float]
    bias: float = 0.0

    def score(self, values: Mapping[str, float]) -> float:
        return self.bias + sum(w * values.get(name, 0.0) for name, w in self.weights.items())

    def towards(self, other: Linear, share: float) -> Linear:
        """On the way from this to the ``other``, 0 to 1."""
        names = self.weights.keys() | other.weights.keys()
        return Linear(
            {
                name: (1 - share) * self.weights.get(name, 0.0)
                + share * other.weights.get(name, 0.0)
                for name in names
            },
            (1 - share) * self.bias + share * other.bias,
        )


@dataclass(frozen=True, slots=True)
class Pair:
    """A model for words alone, and one for words and an embedder of full trust."""

    words: Linear
    both: Linear

    def at(self, trust: float) -> Linear:
        """For an embedder that is trusted so far, 0 to 1."""
        return self.words if trust <= 0 else self.words.towards(self.both, trust)


@dataclass(frozen=True, slots=True)
class Probe:
    """One linear layer over a message's vector: does it ask for something remembered?"""

    vector: Sequence[float]
    bias: float

    def log_odds(self, message: Sequence[float]) -> float:
        """0 for a vector of another length."""
        if len(message) != len(self.vector):
            return 0.0
        return math.sumprod(message, self.vector) + self.bias


@dataclass(frozen=True, slots=True)
class RecallWeights:
    """All that was fitted.

    Attributes:
        order: Of ``Features``.
        speak: Of what ``of_answer`` tells; its log-odds are those that something answers.
        beside: Log-odds by which the model for words alone is held back beside an embedder.
        floor: The least probability, 0 to 1, at which something is said unasked.
        within: What is shown unasked has at least the best score less this.
        unknown: Standard deviations, ``a + b * covered``, that stand for the similarity of what the
            embedder's index does not hold yet.
        probes: By the name of the embedder's model.
        newer: Of what ``newer.features`` tells of a pair; above 0 the later one says how it stands
            now. Without a fit none does.
    """

    order: Pair
    speak: Pair
    floor: float
    within: float
    unknown: tuple[float, float]
    beside: float = 0.0
    probes: Mapping[str, Probe] = field(default_factory=dict)
    newer: Linear = Linear({}, bias=-1.0)

    def chance(self, trust: float, values: Mapping[str, float]) -> float:
        """The probability that something answers, 0 to 1. ``values``: see ``of_answer``.

        Either model may say so: an embedder that calls nothing near does not silence the words.
        """
        log_odds = self.speak.at(trust).score(values)
        if trust > 0:
            log_odds = max(log_odds, self.speak.words.score(values) - self.beside)
        return 1 / (1 + math.exp(-max(min(log_odds, 50.0), -50.0)))


def order_terms(model: Linear, features: Features) -> dict[str, float]:
    """Each term of a candidate's score."""
    values = zip(_CANDIDATE, _read(features), strict=True)
    return {name: model.weights.get(name, 0.0) * value for name, value in values}
