"""What is told of days: of a week every day, each as briefly as that takes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from ...catalogue.rules.timeline import Dated, is_digest
from ...models.data_models import StoredMemory
from ...models.passages import place_name
from ...models.recall import Hit
from .ranking import Candidate, Choice, Sifted, choose

WEEK: Final = 7
"""So many days are told each, where a question names them."""
_LEAST_PREVIEW: Final = 40


def limit_of(memories: Iterable[Dated], limit: int, days: int) -> int:
    """How many memories answer a question about days: one for each of up to ``days`` of them, where
    that is more than ``limit``."""
    stated = {one.day for one in memories if one.said_then}
    return max(limit, min(len(stated), days))


def choose_days(
    sifted: Sifted,
    *,
    limit: int,
    token_budget: int,
    preview_chars: int,
    line: Callable[[Hit], str] | None = None,
) -> Choice:
    """As ``choose``; but where the digests do not fit into the budget, all are told more briefly
    rather than some of them not at all."""
    digests = [stored for one in sifted.best[:limit] if (stored := _digest(one)) is not None]
    keys = {(place_name(stored), stored.memory.memory_id) for stored in digests}
    chars = preview_chars
    while True:
        choice = choose(
            sifted, limit=limit, token_budget=token_budget, preview_chars=chars, line=line
        )
        chosen = {(hit.scope_name, hit.memory_id) for hit in choice.hits}
        if keys <= chosen or chars <= _LEAST_PREVIEW:
            return choice
        chars = max(chars * 3 // 4, _LEAST_PREVIEW)


def _digest(candidate: Candidate) -> StoredMemory | None:
    stored = candidate.passage
    return stored if isinstance(stored, StoredMemory) and is_digest(stored.memory) else None
