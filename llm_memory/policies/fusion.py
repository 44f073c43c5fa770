"""Two arms become one order: normalised scores, weighted by how far each can be trusted.

Not by ranks: reciprocal rank fusion trusts both arms alike, and with a weak one it loses what the
strong one found. A weight of 0 leaves the arm out altogether.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from itertools import islice

_NEAR, _FAR = 10, 50
_FEWEST = 20
_CHANCE, _SURE = 1.0, 4.0
"""Of ``outstanding``: what chance gives now and then, and never."""
_MORE = 1.3
"""So much more an embedder counts where it is sure: with the most trust, 0.8 of all."""
_LOOKED_AT = 5
_LEAST_SURE = 0.3
LEAST_FOUND = 1 / 3
"""Measured with a small English model on the development half; from 1/11 to 1/2 it hardly matters,
0 loses some of the first ten."""
BESIDE = 0.3
"""What a neighbour in the session gives of its own score."""


def spread[K: Hashable](similarities: Mapping[K, float]) -> dict[K, float]:
    """From ``LEAST_FOUND`` for the least of an answer to 1 for the greatest: what models call near
    differs. 0 is for what was not found."""
    if not similarities:
        return {}
    low, high = min(similarities.values()), max(similarities.values())
    width = high - low
    if width <= 0:
        return dict.fromkeys(similarities, 1.0)
    share = (1 - LEAST_FOUND) / width
    return {key: 1 - (high - value) * share for key, value in similarities.items()}


def beside[K: Hashable](
    scores: Mapping[K, float], predecessors: Mapping[K, tuple[K, float]]
) -> dict[K, float]:
    """Each with a share of what the better of the records before and after it has.

    Args:
        predecessors: Of some, what they follow on, and how much that means: 0 to 1.
    """
    given = dict.fromkeys(scores, 0.0)
    for key, (before, follows) in predecessors.items():
        if key in scores and before in scores:
            share = BESIDE * follows
            given[key] = max(given[key], share * scores[before])
            given[before] = max(given[before], share * scores[key])
    return {key: score + given[key] for key, score in scores.items()}


def sureness(coverages: Iterable[float], floor: float) -> float:
    """How much the words' own order is worth, 0.3 to 1: the best of their first five matches may
    cover so little of the question that even it is there by chance."""
    best = max(islice(coverages, _LOOKED_AT), default=0.0)
    return min(max(best / floor, _LEAST_SURE), 1.0) if floor > 0 else 1.0


def outstanding(similarities: Iterable[float]) -> float:
    """How far the nearest stands out of an embedder's answer, whatever it calls near: about 0, and
    seldom above 1, where it is the nearest by chance.

    The upper end of what is near by chance falls off exponentially: its i-th and the next lie
    ``t / i`` apart. So t is told by those from the tenth to the fiftieth, and how far the first
    would lie before the tenth by t.
    """
    ordered = sorted(similarities, reverse=True)[:_FAR]
    near = min(_NEAR, len(ordered) // 3)
    if len(ordered) < _FEWEST or ordered[near - 1] <= ordered[-1]:
        return 0.0
    before, between = _steps(1, near), _steps(near, len(ordered))
    fall = (ordered[near - 1] - ordered[-1]) / between
    return (ordered[0] - ordered[near - 1]) / fall - before


def _steps(first: int, last: int) -> float:
    return sum(1 / step for step in range(first, last))


def surer(dense_weight: float, similarities: Iterable[float]) -> float:
    """An embedder's weight for one question: more where its answer leaves no doubt. None stays
    none: what is no judge of meaning is often sure of itself."""
    if dense_weight <= 0:
        return 0.0
    share = (outstanding(similarities) - _CHANCE) / (_SURE - _CHANCE)
    return min(dense_weight * (1 + _MORE * min(max(0.0, share), 1.0)), 1.0)


def fuse[K: Hashable](
    lexical: Mapping[K, float],
    dense: Mapping[K, float],
    *,
    dense_weight: float,
    sureness: float = 1.0,
    behind: Collection[K] = (),
) -> dict[K, float]:
    """``(1 - w) * s * lexical + w * dense``, 0 where an arm did not find it.

    Args:
        sureness: Of the words, for this query: see ``sureness``.
        behind: What the dense arm cannot know yet: of those the words alone decide.
    """
    fused: dict[K, float] = {}
    for key in lexical.keys() | dense.keys():
        words, near = lexical.get(key, 0.0), dense.get(key, 0.0)
        if key in lexical or dense_weight > 0:
            near = words if key in behind and key not in dense else near
            fused[key] = (1 - dense_weight) * sureness * words + dense_weight * near
    return fused
