"""The order of what is recalled, where one statement has settled another. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ...catalogue.rules.closing import closed_by
from ...models.data_models import StoredMemory
from ...models.key import Key
from ...models.passages import Passage, place_name
from .ranking import Candidate, Sifted

_HOPS: Final = 8
"""A plan is dropped, and the plan in its place, too: so often at most."""

type Find = Callable[[Key], Passage | None]
"""What lives at a place under an id."""


def closed_last(sifted: Sifted, find: Find) -> Sifted:
    """What was settled comes behind all that holds; in its place stands what has settled it."""
    if not any(map(_is_closed, sifted.best)):
        return sifted
    known = {one.key: one for one in (*sifted.best, *sifted.below)}
    ordered: dict[Key, Candidate] = {}
    behind: list[Candidate] = []
    for candidate in sifted.best:
        if not _is_closed(candidate):
            ordered.setdefault(candidate.key, candidate)
            continue
        behind.append(candidate)
        settled = _settled_by(candidate.passage, find)
        if settled is not None:
            instead = replace(candidate, passage=settled)
            ordered.setdefault(instead.key, known.get(instead.key, instead))
    below = [one for one in sifted.below if one.key not in ordered]
    return Sifted([*ordered.values(), *behind], below)


def _is_closed(candidate: Candidate) -> bool:
    passage = candidate.passage
    return isinstance(passage, StoredMemory) and bool(closed_by(passage.memory))


def _settled_by(passage: Passage, find: Find) -> Passage | None:
    """What holds now, where it is still known: at the same place, so read by the same people."""
    for _ in range(_HOPS):
        if not isinstance(passage, StoredMemory) or not (by := closed_by(passage.memory)):
            return passage
        following = find(Key(place_name(passage), by))
        if following is None:
            return None
        passage = following
    return None
