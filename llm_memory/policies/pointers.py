"""Pointers: ``preferences.md#m-…`` in a recalled line, or the bare id."""

from __future__ import annotations

import re

_POINTER = re.compile(r"(?:^|[#^\s\[])(m-[0-9a-z]{4,32})\]?$")


def pointed_id(pointer: str) -> str | None:
    """The id that a pointer names. The path is for humans: it never opens a file."""
    match = _POINTER.search(pointer.strip())
    return match[1] if match else None
