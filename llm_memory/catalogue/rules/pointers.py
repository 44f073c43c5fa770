"""Pointers: ``preferences.md#m-…`` or ``trips/japan.md#n-…`` in a recalled line, or the bare id."""

from __future__ import annotations

import re

_POINTER = re.compile(r"(?:^|[#^\s\[(（【])([mn]-[0-9a-z]{4,32})[\])）】]?$")


def is_note_id(identifier: str) -> bool:
    """True for the id of a piece of a note; a memory's begins with ``m-``."""
    return identifier.startswith("n-")


def pointed_id(pointer: str) -> str | None:
    """Returns the id in a pointer. The path is for humans: it never opens a file."""
    match = _POINTER.search(pointer.strip())
    return match[1] if match else None
