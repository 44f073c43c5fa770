"""Measures of an ordered answer against what is right."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

_PLACES = 10


def scored(found: Sequence[str], gold: Collection[str]) -> dict[str, float]:
    """Of one question: shares of gold among the first k, reciprocal rank, NDCG at 10."""
    right = [name in gold for name in found[:_PLACES]]
    most = max(len(gold), 1)
    gain = sum(1 / math.log2(place + 2) for place, hit in enumerate(right) if hit)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(most, _PLACES)))
    return {
        "recall@1": sum(right[:1]) / most,
        "recall@5": sum(right[:5]) / most,
        "recall@10": sum(right) / most,
        "mrr": next((1 / (place + 1) for place, hit in enumerate(right) if hit), 0.0),
        "ndcg@10": gain / ideal,
    }


def session_found(sessions: Sequence[str], gold: Collection[str]) -> dict[str, float]:
    """Of one question: 1 where any gold session is among those of the first k."""
    return {f"recall@{k}": float(any(name in gold for name in sessions[:k])) for k in (5, 10)}


def means(results: Sequence[dict[str, float]]) -> dict[str, float]:
    """The mean of each measure."""
    if not results:
        return {}
    return {name: round(sum(r[name] for r in results) / len(results), 4) for name in results[0]}
