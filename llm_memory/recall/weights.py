"""The fitted models of recall: what orders candidates, and what decides whether to speak.

Logistic models with signs that were constrained in the fit: more of what speaks for an answer
never lowers it. ``benchmarks/fit.py`` writes them into ``weights.json``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

PATH: Final = Path(__file__).with_name("weights.json")


@dataclass(frozen=True, slots=True)
class Linear:
    """``bias + sum(weights[name] * value[name])``, in log-odds. A value without weight is 0."""

    weights: Mapping[str, float]
    bias: float = 0.0

    def score(self, values: Mapping[str, float]) -> float:
        return self.bias + sum(w * values.get(name, 0.0) for name, w in self.weights.items())


@dataclass(frozen=True, slots=True)
class Pair:
    """A model for words alone, and one for words and an embedder of full trust."""

    words: Linear
    both: Linear

    def at(self, trust: float) -> Linear:
        """For an embedder that is trusted so far, 0 to 1."""
        if trust <= 0:
            return self.words
        words, both = self.words.weights, self.both.weights
        weights = {
            name: (1 - trust) * words.get(name, 0.0) + trust * both.get(name, 0.0)
            for name in words.keys() | both.keys()
        }
        return Linear(weights, (1 - trust) * self.words.bias + trust * self.both.bias)


@dataclass(frozen=True, slots=True)
class RecallWeights:
    """All that was fitted.

    Attributes:
        order, order_of_long: Of ``order.FEATURES``, for a question and for a long message.
        speak: Of the values of ``order.decide``; its log-odds are those that something answers.
        floor: The least probability, 0 to 1, at which something is said unasked.
        within: What is shown unasked has at least the best score less this.
        unknown: Standard deviations, ``a + b * covered``, that stand for the similarity of what the
            embedder's index does not hold yet.
        probes: By the embedder's model: layer over a message's vector, bias. Does it ask?
        newer: Of ``tell_once.features`` of a pair; above 0 the later one says how it stands now.
    """

    order: Pair
    order_of_long: Pair
    speak: Pair
    floor: float
    within: float
    unknown: Sequence[float]
    probes: Mapping[str, tuple[Sequence[float], float]]
    newer: Linear

    def probe(self, model: str, message: Sequence[float]) -> float:
        """Log-odds that a message asks for something remembered; 0 for another model or length."""
        layer, bias = self.probes.get(model, ((), 0.0))
        return math.sumprod(message, layer) + bias if len(message) == len(layer) else 0.0

    def chance(self, trust: float, values: Mapping[str, float]) -> float:
        """The probability that something answers, 0 to 1."""
        log_odds = self.speak.at(trust).score(values)
        return 1 / (1 + math.exp(-max(min(log_odds, 50.0), -50.0)))


@cache
def shipped(floor: float | None = None) -> RecallWeights:
    """The weights of the file, with the floor that an owner has set. Blocks at the first call."""
    found = json.loads(PATH.read_text("utf-8"))
    order, order_of_long, speak = (
        Pair(*(Linear(**found[name][of]) for of in ("words", "both")))
        for name in ("order", "order_of_long", "speak")
    )
    probes = {name: (probe["vector"], probe["bias"]) for name, probe in found["probes"].items()}
    known = {name: found[name] for name in ("floor", "within", "unknown")}
    known |= {} if floor is None else {"floor": floor}
    newer = Linear(**found["newer"])
    return RecallWeights(order, order_of_long, speak, **known, probes=probes, newer=newer)
