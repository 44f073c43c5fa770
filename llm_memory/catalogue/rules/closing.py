"""Marks entries that a later statement settled: a debt paid, a plan dropped. Pure.

The older entry keeps its words and gets one more field: ``了结：`` and the id of the entry that
settled it. A person can add the field by hand, or remove it to reopen the entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from ...models.data_models import Memory, StoredMemory
from .proposals import is_rejected

_NAME: Final = "了结"
_FIELD: Final = re.compile(rf"{_NAME}\s*[：:]\s*(m-[0-9a-z]{{4,32}})")


def closed_by(memory: Memory) -> str:
    """Returns the id of the entry that settled this one, empty if it is open."""
    for piece in memory.extra:
        if (found := _FIELD.fullmatch(piece)) is not None:
            return found[1]
    return ""


def closed(memory: Memory, by: str) -> Memory:
    """Returns the entry marked as settled by ``by``."""
    return replace(memory, extra=(f"{_NAME}：{by}", *reopened(memory).extra))


def reopened(memory: Memory) -> Memory:
    """Returns the entry without the mark."""
    return replace(memory, extra=tuple(one for one in memory.extra if not _FIELD.fullmatch(one)))


def is_over(memory: Memory) -> bool:
    """True for an entry that a later one settled, and for a rejected proposal."""
    return bool(closed_by(memory)) or is_rejected(memory)


def holding(entries: Iterable[StoredMemory]) -> list[StoredMemory]:
    """Returns the entries that hold: neither settled nor rejected."""
    return [stored for stored in entries if not is_over(stored.memory)]
