"""How an agent names what it reads: ``project/decisions.md#m-…``, ``shared/RUNBOOK.md:10-40``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .levels import GLOBAL, PROJECT

_LINES: Final = re.compile(r":([0-9]{1,7})(?:-([0-9]{1,7}))?$")
_LONGEST: Final = 400


@dataclass(frozen=True, slots=True)
class ReadTarget:
    """Attributes:
    level: ``project``, ``global``, or empty where none is named.
    where: A pointer, or a path inside the level.
    first: The first line wanted, from 1.
    last: The last one; None for as many as fit.
    """

    level: str
    where: str
    first: int = 1
    last: int | None = None


def parse_target(text: str) -> ReadTarget:
    """Returns what ``memory_read`` was given. Whether it is there is the memory's to say."""
    where = text.strip()[:_LONGEST]
    first, last = 1, None
    if lines := _LINES.search(where):
        where = where[: lines.start()]
        first = max(int(lines[1]), 1)
        last = int(lines[2]) if lines[2] else first
    head, slash, rest = where.partition("/")
    if slash and head in (PROJECT, GLOBAL):
        return ReadTarget(head, rest, first, last)
    return ReadTarget("", where, first, last)
