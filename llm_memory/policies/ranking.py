"""From scored candidates to hits: floor, order, limit, budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..models.data_models import StoredMemory
from ..models.recall import DropReason, Hit
from .text import estimate_tokens, preview


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory and its relevance: 0 at the floor of what found it, 1 for the same words."""

    stored: StoredMemory
    relevance: float


def above_floor(similarity: float, floor: float) -> float:
    """``(similarity - floor) / (1 - floor)``: comparable between embedders with other floors."""
    return (similarity - floor) / (1.0 - floor) if floor < 1.0 else similarity - floor


def choose(
    candidates: Iterable[Candidate], *, limit: int, token_budget: int, preview_chars: int
) -> tuple[tuple[Hit, ...], dict[DropReason, int]]:
    """The best candidates as hits, and how many were dropped for which reason.

    Best first; among equals the stronger, then the newer. One that does not fit the budget is
    skipped and the next tried.
    """
    dropped = dict.fromkeys(DropReason, 0)
    best: dict[tuple[str, str], Candidate] = {}
    for candidate in candidates:
        if not candidate.relevance >= 0:  # NaN, too
            dropped[DropReason.FLOOR] += 1
            continue
        key = candidate.stored.scope.name, candidate.stored.memory.memory_id
        known = best.get(key)
        if known is None or known.relevance < candidate.relevance:
            best[key] = candidate
    hits: list[Hit] = []
    left = token_budget
    for candidate in sorted(best.values(), key=_order):
        if len(hits) >= limit:
            dropped[DropReason.LIMIT] += 1
            continue
        hit = _hit(candidate, preview_chars)
        if hit.tokens > left:
            dropped[DropReason.BUDGET] += 1
            continue
        left -= hit.tokens
        hits.append(hit)
    return tuple(hits), {reason: count for reason, count in dropped.items() if count}


def _order(candidate: Candidate) -> tuple[float, int, float]:
    memory = candidate.stored.memory
    return -candidate.relevance, -memory.strength, -memory.created_at.timestamp()


def _hit(candidate: Candidate, preview_chars: int) -> Hit:
    stored = candidate.stored
    memory = stored.memory
    text = preview(memory.judgment, preview_chars)
    line = f"{text} {memory.provenance.who} {stored.pointer} {memory.created_at:%Y-%m-%d}"
    return Hit(
        memory_id=memory.memory_id,
        pointer=stored.pointer,
        scope_name=stored.scope.name,
        preview=text,
        who=memory.provenance.who,
        created_at=memory.created_at,
        relevance=min(candidate.relevance, 1.0),
        tokens=estimate_tokens(line),
    )
