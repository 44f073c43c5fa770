"""The order of what is recalled, where one statement has settled another. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ...catalogue.rules.closing import closed_by
from ...catalogue.rules.proposals import is_accepted, is_rejected, proposal_key
from ...models.passages import Key, NoteChunk, Passage, place_name
from .ranking import Candidate, Sifted

_HOPS: Final = 8
"""A plan is dropped, and the plan in its place, too: so often at most."""


def closed_last(sifted: Sifted, find: Callable[[Key], Passage | None]) -> Sifted:
    """What was settled or rejected comes behind all that holds; in a memory's place stands what has
    settled it.
    ``find`` tells what lives at a place under an id."""
    holding = [(one, _holding(one.passage, find)) for one in sifted.best]
    if all(holds is one.passage for one, holds in holding):
        return sifted
    known = {one.key: one for one in (*sifted.best, *sifted.below)}
    ordered: dict[Key, Candidate] = {}
    behind: list[Candidate] = []
    for candidate, holds in holding:
        if holds is not candidate.passage:
            behind.append(candidate)
        if holds is not None:
            instead = replace(candidate, passage=holds)
            ordered.setdefault(instead.key, known.get(instead.key, instead))
    below = [one for one in sifted.below if one.key not in ordered]
    return Sifted([*ordered.values(), *behind], below)


def records_instead(sifted: Sifted, record: Callable[[str], Passage | None]) -> Sifted:
    """In the place of an accepted proposal stands its record, which is what was decided.
    ``record`` returns it by the proposal's key, if the reader sees it."""
    found = {one.key: record(key) for one in sifted.best if (key := _accepted(one.passage))}
    if not any(found.values()):
        return sifted
    known = {one.key: one for one in sifted.best}
    ordered: dict[Key, Candidate] = {}
    for candidate in sifted.best:
        there = found.get(candidate.key)
        one = candidate if there is None else replace(candidate, passage=there)
        # Beside its proposal, which says the same, a record counts for less than it does alone.
        before = ordered[one.key].relevance if one.key in ordered else 0.0
        relevance = max(candidate.relevance, before)
        ordered[one.key] = replace(known.get(one.key, one), relevance=relevance)
    return Sifted([*ordered.values()], [one for one in sifted.below if one.key not in ordered])


def _accepted(passage: Passage) -> str:
    """Returns the key of an accepted proposal, empty for anything else."""
    if isinstance(passage, NoteChunk) or not is_accepted(passage.memory):
        return ""
    return proposal_key(passage.memory.memory_id)


def _holding(passage: Passage, find: Callable[[Key], Passage | None]) -> Passage | None:
    """What holds now, where it is still known: at the same place, so read by the same people."""
    settled: Passage | None = passage
    for _ in range(_HOPS):
        if isinstance(settled, NoteChunk):
            return None if settled.settled else settled
        if settled is None or is_rejected(settled.memory):
            return None
        if not (by := closed_by(settled.memory)):
            return settled
        settled = find(Key(place_name(settled), by))
    return None
