"""Two arms become one order: scores of one scale, added, the embedder's by how far it is trusted.

Not by ranks: reciprocal rank fusion trusts both arms alike, and with a weak one it loses what the
strong one found. A weight of 0 leaves the arm out altogether.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from statistics import median

BEYOND_CHANCE = 5.0
"""Standard deviations above the middle that count as much as all that words can say."""
BESIDE = 0.3
"""What a neighbour in the session gives of its own score."""


def min_max_scaled[K: Hashable](
    similarities: Mapping[K, float], deviation: float = 0.0
) -> dict[K, float]:
    """From 0 for the middle of an answer, and all below it, to 1 for the nearest: what models call
    near differs, and the far half of an answer says nothing.

    More than 1 where the nearest stands out as nothing does by chance: then it outweighs words.

    Args:
        deviation: What chance alone gives, see ``Scale``; 0 if unknown.
    """
    if not similarities:
        return {}
    middle, nearest = median(similarities.values()), max(similarities.values())
    width = nearest - middle
    if width <= 0:
        return {key: float(value == nearest) for key, value in similarities.items()}
    unit = min(width, BEYOND_CHANCE * deviation) if deviation > 0 else width
    return {key: max(value - middle, 0.0) / unit for key, value in similarities.items()}


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


def fuse[K: Hashable](
    lexical: Mapping[K, float],
    dense: Mapping[K, float],
    *,
    weight: float,
    behind: Collection[K] = (),
) -> dict[K, float]:
    """``(lexical + w * dense) / (1 + w)``, 0 where an arm did not find it.

    Args:
        weight: Of the embedder, 0 to 1: with 1 it counts as much as the words.
        behind: What the dense arm cannot know yet: of those the words alone decide.
    """
    fused: dict[K, float] = {}
    for key in lexical.keys() | dense.keys():
        words, near = lexical.get(key, 0.0), dense.get(key, 0.0)
        if key in lexical or weight > 0:
            near = words if key in behind and key not in dense else near
            fused[key] = (words + weight * near) / (1 + weight)
    return fused
