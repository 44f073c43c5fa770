"""Named metadata fields of an entry that a person can write as well: ``状态：完成``. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection

from ...models.data_models import Memory
from ...text.normalising import one_line

STATE = "状态"
"""Says how a task or a proposal stands."""
_FIELD = re.compile(r"([^：:]+?)\s*[：:]\s*(.*)")
_ESCAPED = re.compile(r"\\([\\·^])")
"""The escapes of ``markdown/escaping.py`` that a field needs, which is one line among others."""


def fields_of(memory: Memory, names: Collection[str]) -> dict[str, str]:
    """Returns the values of the entry's fields with these names."""
    found = (_FIELD.fullmatch(piece) for piece in memory.extra)
    return {one[1]: _ESCAPED.sub(r"\1", one[2]) for one in found if one and one[1] in names}


def others_of(memory: Memory, names: Collection[str]) -> tuple[str, ...]:
    """Returns the entry's further fields, as they stand."""
    found = ((piece, _FIELD.fullmatch(piece)) for piece in memory.extra)
    return tuple(piece for piece, one in found if one is None or one[1] not in names)


def field(name: str, value: str) -> str:
    """Returns a field as it is written; ``fields_of`` reads the value on one line."""
    escaped = one_line(value).replace("\\", "\\\\").replace("·", "\\·").replace("^m-", "\\^m-")
    return f"{name}：{escaped}"
