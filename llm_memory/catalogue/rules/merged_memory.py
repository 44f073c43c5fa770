"""Merges two memories that say the same. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ...models.data_models import Memory

ORIGIN: Final = "原号"
"""The field with the ids that a memory had in other stores."""


def merged_memory(one: Memory, other: Memory) -> Memory:
    """Returns ``one``, its words kept, with what ``other`` adds."""
    ids = tuple(piece for piece in other.extra if piece.startswith(f"{ORIGIN}："))
    return replace(
        one, strength=max(one.strength, other.strength), extra=all_pieces(one.extra, ids)
    )


def all_pieces(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the pieces of both; former ids are joined in one piece."""
    prefix = f"{ORIGIN}："
    ids = [
        name.strip()
        for piece in (*one, *other)
        if piece.startswith(prefix)
        for name in piece.removeprefix(prefix).split(", ")
    ]
    rest = [piece for piece in (*one, *other) if not piece.startswith(prefix)]
    return (prefix + ", ".join(dict.fromkeys(ids)), *dict.fromkeys(rest)) if ids else tuple(rest)
