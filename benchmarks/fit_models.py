"""The models of recall, fitted to rows.

- ``order``: a conditional logit, the answers of each question against what else was found.
- ``speak``: a logistic regression, whether the first three hold the answer.
- ``probe``: a ridge logistic regression of the message's vector, questions against small talk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from fit_rows import ORDER, TOLD, Row
from scipy.optimize import minimize

BY_HAND = {"verbatim": 3.0, "time": 2.5, "salient": 0.3}
"""Casts ask for nothing word for word, name few times, and reinforce no memory."""
LEAST = {**BY_HAND, "speaker": 1.0}
"""Of the others what is fitted is at least 0. A speaker who asks for 我的 outweighs what another
said since."""
SPEAK = ["near", "covered", "covered_by_first", "asks", "length", "probe"]
OF_VECTORS = {"near", "nearest", "probe"}
OF_ONE_QUESTION = {"covered", "stated"}
"""What orders nothing for a long message: that is more than one question, and which share of it one
text speaks of says little."""
OF_LONG_MESSAGES = {"text"}
"""What orders for such a message alone."""
_IMPORTANCE = {"unrelated": 0.7, "small talk": 0.7, TOLD: 0.1}
"""What a memory told beside it costs. What bears on what somebody tells is often welcome, and it is
told often. Of what asks and is not answered .3, of an answer 1."""
SHOWN = 3
PENALTY = 0.05
ALLOWED = 0.5
"""Points of recall at 5 by which the order may be below one of its arms."""
ROUNDS, MORE = 12, 1.25


def seen(row: Row, *, vectors: bool) -> np.ndarray:
    """Its features, without those that order nothing for such a message, or without vectors."""
    return row.features * used(vectors=vectors, is_long=row.is_long)


def used(*, vectors: bool, is_long: bool) -> np.ndarray:
    """Shape ``(len(ORDER),)``: 1 for each feature that orders, else 0."""
    out = (OF_ONE_QUESTION if is_long else OF_LONG_MESSAGES) | (set() if vectors else OF_VECTORS)
    return np.array([name not in out for name in ORDER], dtype=float)


def alone(name: str) -> np.ndarray:
    """Weights of ``ORDER`` by which one feature orders alone."""
    return np.array([one == name for one in ORDER], dtype=float)


type Kinds = Sequence[Sequence[Sequence[Row]]]
"""Casts, and talks: the rows of each."""


def lawful_order(kinds: Kinds, *, vectors: bool) -> np.ndarray:
    """Weights of ``ORDER``, fitted against the law of ``law.py``: a cast or talk in which the order
    is below one of its arms alone counts ``MORE`` in the next round. Of all rounds the one that
    falls short the least."""
    arms = [alone("text"), alone("near")]
    sets = [rows for kind in kinds for rows in kind]
    best = [
        max(recall_at(rows, arm, vectors=True, of_all=True) for arm in arms[: 1 + vectors])
        for rows in sets
    ]
    counts = np.ones(len(sets))
    least, found = np.inf, np.zeros(len(ORDER))
    for _ in range(ROUNDS):
        order = fit_order(kinds, counts, vectors=vectors)
        behind = [
            max(arm - ALLOWED - recall_at(rows, order, vectors=vectors), 0.0)
            for rows, arm in zip(sets, best, strict=True)
        ]
        if sum(behind) < least:
            least, found = sum(behind), order
        if least == 0:
            break
        counts = np.where(np.array(behind) > 0, counts * MORE, counts)
    return found


def fit_order(kinds: Kinds, counts: Sequence[float], *, vectors: bool) -> np.ndarray:
    """Weights of ``ORDER``, none below 0: ``P(i) = exp(w x_i) / sum exp(w x)``, with an L2 penalty
    on the weights of standardised features.

    Casts together and talks together count the same; ``counts``: each of them among its kind.
    """
    each, asked, shares = iter(counts), list[Row](), list[float]()
    for kind in kinds:
        told = [
            (row, count)
            for rows, count in zip(kind, each, strict=False)
            for row in rows
            if row.asks and row.answers.any()
        ]
        asked += [row for row, _ in told]
        whole = sum(count for _, count in told)
        shares += [count / whole for _, count in told]
    share = np.array(shares) / sum(shares)
    x = np.concatenate([seen(row, vectors=vectors) for row in asked])
    answers = np.concatenate([row.answers for row in asked])
    sizes = np.array([len(row.answers) for row in asked])
    first, of = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(asked)), sizes)

    def mean(values: np.ndarray) -> np.ndarray:
        return np.asarray(np.add.reduceat(values, first) / sizes[:, None])

    spread = mean((x - mean(x)[of]) ** 2).mean(axis=0)
    least = np.array([LEAST.get(name, 0.0) for name in ORDER])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = x @ weights
        chances = np.exp(scores - np.maximum.reduceat(scores, first)[of])
        right = chances * answers
        all_of, right_of = np.add.reduceat(chances, first), np.add.reduceat(right, first)
        right_of = np.maximum(right_of, 1e-30)
        slope = ((share / all_of)[of] * chances - (share / right_of)[of] * right) @ x
        own = spread * weights
        total = float(share @ np.log(all_of / right_of))
        return total + PENALTY * weights @ own, slope + 2 * PENALTY * own

    bounds = [
        (low, low if name in BY_HAND else None) for name, low in zip(ORDER, least, strict=True)
    ]
    found = least_loss(loss, np.maximum(least, 0.1), bounds)
    return np.asarray(found * (x.any(axis=0) | (least > 0))).round(3)


def least_loss(
    loss: Callable[[np.ndarray], tuple[float, np.ndarray]], start: np.ndarray, bounds: Sequence[Any]
) -> np.ndarray:
    """Where ``loss``, which tells its gradient too, is least: to more digits than are written."""
    exact = {"ftol": 1e-14, "gtol": 1e-8, "maxiter": 10_000, "maxfun": 100_000}
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options=exact)
    return np.asarray(found.x)


def speak_values(row: Row, weights: np.ndarray, probe: float, *, vectors: bool) -> np.ndarray:
    """As ``of_answer`` tells them, under these weights of the order."""
    x = seen(row, vectors=vectors)
    near, covered = (row.features[:, ORDER.index(name)] for name in ("near", "covered"))
    found = {
        **row.message,
        "near": near.max(initial=0.0) * vectors,
        "covered": covered.max(initial=0.0),
        "covered_by_first": covered[int(np.argmax(x @ weights))] if len(x) else 0.0,
        "probe": probe,
    }
    return np.array([found.get(name, 0.0) for name in SPEAK])


def logistic(
    x: np.ndarray, y: np.ndarray, importance: np.ndarray, bounds: Sequence[Any], penalty: float
) -> np.ndarray:
    """Weights and, last, the bias, of standardised columns, told for the columns as they are."""
    importance = importance / importance.sum()
    mean, deviation = x.mean(axis=0), x.std(axis=0) + 1e-9
    rows = np.c_[(x - mean) / deviation, np.ones(len(x))]

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        odds = rows @ weights
        total = float(importance @ (np.logaddexp(0, odds) - y * odds))
        slope = (importance * (1 / (1 + np.exp(-odds)) - y)) @ rows
        own = np.r_[weights[:-1], 0]
        return total + penalty * own @ own / 2, slope + penalty * own

    found = least_loss(loss, np.zeros(rows.shape[1]), [*bounds, (None, None)])
    weights = found[:-1] / deviation
    return np.r_[weights, found[-1] - weights @ mean]


def fit_probe(rows: Sequence[Row]) -> np.ndarray:
    """Weights of a message's vector, and the bias."""
    kept = [row for row in rows if row.kind not in ("unrelated", TOLD)]
    x = np.stack([row.vector for row in kept])
    y = np.array([row.asks for row in kept], dtype=float)
    importance = np.where(y > 0, 1 / y.sum(), 1 / (1 - y).sum())
    free = [(None, None)] * x.shape[1]
    return logistic(x, y, importance, free, 3e-2).round(3)


def fit_speak(
    rows: Sequence[Row], order: np.ndarray, probes: Sequence[float], *, vectors: bool
) -> np.ndarray:
    """Weights of ``SPEAK``, and the bias."""
    pairs = zip(rows, probes, strict=True)
    x = np.stack([speak_values(row, order, probe, vectors=vectors) for row, probe in pairs])
    y = np.array([holds(row, order, vectors=vectors) for row in rows], dtype=float)
    importance = np.where(y > 0, 1.0, [_IMPORTANCE.get(row.kind, 0.3) for row in rows])
    if not vectors:
        x[:, [name in OF_VECTORS for name in SPEAK]] = 0.0
    bounds = [(None, None) if name == "length" else (0, None) for name in SPEAK]
    return logistic(x, y, importance, bounds, 1e-3).round(3)


def holds(row: Row, order: np.ndarray, *, vectors: bool, within: float = np.inf) -> bool:
    """True if an answer is among the first, and not further than ``within`` behind the best."""
    if not row.answers.any():
        return False
    x = seen(row, vectors=vectors)
    scores = x @ order
    first = np.argsort(-scores, kind="stable")[:SHOWN]
    return bool(any(row.answers[i] and scores[i] >= scores[first[0]] - within for i in first))


@dataclass
class Fit:
    """All models of one set of casts. ``True`` stands for words and vectors."""

    order: dict[bool, np.ndarray]
    speak: dict[bool, np.ndarray]
    probe: np.ndarray

    def log_odds(self, row: Row, *, vectors: bool) -> float:
        """That something answers, by one model alone."""
        probe = float(row.vector @ self.probe[:-1] + self.probe[-1]) if vectors else 0.0
        values = speak_values(row, self.order[vectors], probe, vectors=vectors)
        return float(values @ self.speak[vectors][:-1] + self.speak[vectors][-1])


def fit(casts: Sequence[Sequence[Row]], talks: Sequence[Sequence[Row]]) -> Fit:
    """The rows of each. The probe that a cast is shown has not seen it.

    Talks have a say in the order alone: nothing in them is asked that they do not answer.
    """
    rows = [row for cast in casts for row in cast]
    probe = fit_probe(rows)
    unseen: list[float] = []
    for cast in casts:
        rest = [row for other in casts if other is not cast for row in other]
        inner = fit_probe(rest) if rest else probe
        unseen += [float(row.vector @ inner[:-1] + inner[-1]) for row in cast]
    kinds = [kind for kind in (casts, talks) if kind]
    order = {vectors: lawful_order(kinds, vectors=vectors) for vectors in (False, True)}
    speak = {
        vectors: fit_speak(rows, order[vectors], unseen, vectors=vectors)
        for vectors in (False, True)
    }
    return Fit(order, speak, probe)


def shares_found(
    rows: Sequence[Row], order: np.ndarray, *, vectors: bool, of_all: bool = False
) -> list[float]:
    """Of each question's answers the share among the first five. ``of_all``: by all features that
    have a weight, also those that order nothing for such a message."""
    found = []
    for row in rows:
        x = row.features if of_all else seen(row, vectors=vectors)
        best = np.argsort(-(x @ order), kind="stable")[:5]
        found.append(float(row.answers[best].sum() / max(row.answers.sum(), 1)))
    return found


def recall_at(
    rows: Sequence[Row], order: np.ndarray, *, vectors: bool, of_all: bool = False
) -> float:
    """Recall at 5 of what is asked, in percent."""
    asked = [row for row in rows if row.asks]
    return 100 * float(np.mean(shares_found(asked, order, vectors=vectors, of_all=of_all)))
