"""What a later statement has settled: a debt that was paid, a plan that was dropped. Pure.

The older entry stays as it was said, with one field more: ``了结：`` and the id of the entry that
settled it. A person can write it, or take it out, and then it is open again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from ...models.data_models import Memory, StoredMemory

_NAME: Final = "了结"
_FIELD: Final = re.compile(rf"{_NAME}\s*[：:]\s*(m-[0-9a-z]{{4,32}})")


def closed_by(memory: Memory) -> str:
    """The id of the entry that settled this one, empty for one that is open."""
    for piece in memory.extra:
        if (found := _FIELD.fullmatch(piece)) is not None:
            return found[1]
    return ""


def closed(memory: Memory, by: str) -> Memory:
    """The entry as one that another has settled."""
    return replace(memory, extra=(f"{_NAME}：{by}", *reopened(memory).extra))


def reopened(memory: Memory) -> Memory:
    """The entry as one that holds."""
    return replace(memory, extra=tuple(one for one in memory.extra if not _FIELD.fullmatch(one)))


def holding(entries: Iterable[StoredMemory]) -> list[StoredMemory]:
    """Those that nothing has settled."""
    return [stored for stored in entries if not closed_by(stored.memory)]
