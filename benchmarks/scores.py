"""Measures of an ordered answer against what is right."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

_PLACES = 10
_FIRST_SESSIONS = 5


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


def session_scored(sessions: Sequence[str], gold: Collection[str]) -> dict[str, float]:
    """Of one question, at session level.

    ``sessions`` has the session of each turn found, best first: a session ranks where its first
    turn ranks. ``any@5`` and ``all@5`` are 1 where any, or every, gold session is among the first
    five sessions.
    """
    ranked = list(dict.fromkeys(sessions))
    first = set(ranked[:_FIRST_SESSIONS])
    return {
        "hit@1": float(any(name in gold for name in ranked[:1])),
        "any@5": float(not first.isdisjoint(gold)),
        "all@5": float(bool(gold) and first.issuperset(gold)),
        "mrr": next((1 / rank for rank, name in enumerate(ranked, start=1) if name in gold), 0.0),
    }


def session_level(
    results: Sequence[tuple[str, dict[str, float]]], *, apart: str | None = None
) -> dict[str, Any]:
    """The number of questions and the means of ``(category, session_scored)``: ``overall``, which
    leaves out the category ``apart``, then of each category, that one last."""
    groups = {"overall": [result for category, result in results if category != apart]}
    for category in sorted({name for name, _ in results}, key=lambda name: (name == apart, name)):
        groups[category or "no category"] = [one for name, one in results if name == category]
    return {name: {"questions": len(group), **means(group)} for name, group in groups.items()}


def means(results: Sequence[dict[str, float]]) -> dict[str, float]:
    """The mean of each measure."""
    if not results:
        return {}
    return {name: round(sum(r[name] for r in results) / len(results), 4) for name in results[0]}
