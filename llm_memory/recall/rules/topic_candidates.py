"""A topic's memories beside what the arms found. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import replace

from ...models.data_models import StoredMemory
from ...models.passages import Passage, passage_id, place_name
from .ranking import Candidate, sift

MOST = 50
"""Memories of a topic that take part: so many as an arm names."""
READ = 1000
"""Of a scope's file so many are looked at: those that came last."""
_BEFORE_ALL = 2.0
"""In units of the best that the arms found."""
_BEHIND = 0.9
"""The most, in units of the last relevant one."""


def with_topic(
    found: Iterable[Candidate],
    read: Iterable[StoredMemory],
    *,
    narrowed: bool,
    factor: Callable[[Passage], float],
) -> list[Candidate]:
    """The candidates, and the best of ``read``, all of which pass the floor.

    Where all of a topic is asked for, they stand before everything else, in the order of
    ``factor`` alone. Where a part of it, the arms know better what belongs to that part: their
    order stays, and what they did not find comes behind. Where they found nothing relevant, the
    topic is the answer.
    """
    candidates = list(found)
    known = {_name(candidate.passage): candidate for candidate in candidates}
    chosen = [(factor(memory), memory) for memory in heapq.nlargest(MOST, read, key=factor)]
    relevant = sift(candidates).best if narrowed else ()
    if relevant:
        most = max((own for own, _ in chosen), default=1.0)
        unit = _BEHIND * min(one.order for one in relevant) / most
    else:
        best = max((candidate.order for candidate in candidates), default=0.0)
        unit = _BEFORE_ALL * (best if best > 0 else 1.0)
    for own, memory in chosen:
        one = known.get(_name(memory), Candidate(memory, 0.0, score=0.0))
        score = unit * own
        if relevant:
            score = max(score, one.order)
        elif narrowed:
            score += one.order
        known[_name(memory)] = replace(
            one, relevance=max(one.relevance, 0.0), score=score, factor=own
        )
    return list(known.values())


def _name(passage: Passage) -> tuple[str, str]:
    return place_name(passage), passage_id(passage)
