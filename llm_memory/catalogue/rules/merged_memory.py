"""Merges what two memories that say the same have gathered. Pure."""

from __future__ import annotations

from typing import Final

ORIGIN: Final = "原号"
"""The field with the ids that a memory had in other stores."""


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
