"""The field of an entry that names the talk it came from: ``历史：<history id>#<12 hex>``. Pure.

It holds for the conversation of the entry's provenance, and never leaves the scope.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ...models.data_models import Memory
from .talk_history import parsed_anchor

_FIELD: Final = "历史："


def anchor_field(anchor: str) -> tuple[str, ...]:
    """Returns the fields for ``Memory.extra``; none for an empty anchor."""
    return (f"{_FIELD}{anchor}",) if anchor else ()


def anchor_of(memory: Memory) -> tuple[str, str] | None:
    """Returns the history's id and the digest of the turn; None where none is noted."""
    for piece in memory.extra:
        if piece.startswith(_FIELD) and (found := parsed_anchor(piece.removeprefix(_FIELD))):
            return found
    return None


def without_anchor(memory: Memory) -> Memory:
    """Returns the entry without the field."""
    return replace(memory, extra=tuple(one for one in memory.extra if not one.startswith(_FIELD)))
