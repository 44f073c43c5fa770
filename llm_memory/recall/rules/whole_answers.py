"""What a question for all of something is answered with: before everything else. Pure."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Final

from ...models.data_models import MemoryKind, StoredMemory
from ...models.passages import Passage, passage_id, place_name
from ...text.scripts import fold
from .ranking import Candidate

MOST: Final = 50
"""Memories that take part: so many as an arm names."""
_BEFORE_ALL: Final = 2.0
"""In units of the best that the arms found."""
_IN_TIME: Final = frozenset({MemoryKind.EVENT, MemoryKind.TASK})
"""What was on one day, or is to be done: it comes after what holds."""
_BEGINS, _HOLDS, _SAID = 6.0, 4.0, 2.0


def tells_of(
    stored: StoredMemory, folded: str, names: Collection[str], persons: Collection[str]
) -> float:
    """How directly a memory with this ``folded`` text tells of a person: the most where it begins
    with the name, less where it holds it, least where the person said it; 0 for no other."""
    judgment = fold(stored.memory.judgment)
    if any(judgment.startswith(name) and _holds(judgment, name) for name in names):
        return _BEGINS
    if any(_holds(folded, name) for name in names):
        return _HOLDS
    said_by = stored.memory.provenance.person in persons
    return _SAID if said_by or fold(stored.memory.who) in names else 0.0


def known_of(
    memories: Iterable[StoredMemory],
    folded: Callable[[Passage], str],
    names: Collection[str],
    persons: Collection[str],
) -> dict[StoredMemory, float]:
    """What tells of a person, and its order: facts before events, then as ``tells_of``, then the
    newest. Empty for a name that no speaker has, and with which no memory begins: it is the name of
    a thing, and what merely holds the word is no answer."""
    told = {one: about for one in memories if (about := tells_of(one, folded(one), names, persons))}
    speaks = any(fold(one.memory.who) in names for one in told)
    if not (persons or speaks or any(about != _HOLDS for about in told.values())):
        return {}
    newest = max((one.memory.created_at.timestamp() for one in told), default=1.0)
    return {
        one: 1.0
        + 10.0 * (one.memory.kind not in _IN_TIME)
        + about
        + one.memory.created_at.timestamp() / max(newest, 1.0)
        for one, about in told.items()
    }


def in_front(
    candidates: Iterable[Candidate], orders: Mapping[StoredMemory, float]
) -> list[Candidate]:
    """The candidates, and the best of ``orders`` before all of them, in that order."""
    known = {_name(candidate.passage): candidate for candidate in candidates}
    best = max((candidate.order for candidate in known.values()), default=0.0)
    unit = _BEFORE_ALL * (best if best > 0 else 1.0)
    for memory, own in heapq.nlargest(MOST, orders.items(), key=itemgetter(1)):
        one = known.get(_name(memory), Candidate(memory, 0.0, score=0.0))
        known[_name(memory)] = replace(
            one, relevance=max(one.relevance, 0.0), score=unit * own, factor=own, weak=False
        )
    return list(known.values())


def behind(
    candidates: Iterable[Candidate], orders: Mapping[StoredMemory, float]
) -> list[Candidate]:
    """The best of ``orders``, in that order, as candidates behind all of the others."""
    last = min((one.order for one in candidates), default=1.0)
    best = heapq.nlargest(MOST, orders.items(), key=itemgetter(1))
    unit = min(last, 1.0) / (2 * max((own for _, own in best), default=1.0))
    return [Candidate(one, 0.0, score=unit * own, factor=own) for one, own in best]


def _name(passage: Passage) -> tuple[str, str]:
    return place_name(passage), passage_id(passage)


def _holds(text: str, name: str) -> bool:
    """Whether a name stands in a text; one in Latin letters as a whole word."""
    if name.isascii():
        return re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text) is not None
    return name in text
