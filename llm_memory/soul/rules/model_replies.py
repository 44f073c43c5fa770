"""What a model's answer says besides its thoughts: one JSON object, or a text."""

from __future__ import annotations

import json
import re
from typing import Final

_MOST_CHARS: Final = 20_000
_THOUGHTS: Final = re.compile(r"<think>.*?</think>", re.DOTALL)
_FENCE: Final = re.compile(r"```[A-Za-z]*\s*\n(.*)\n\s*```", re.DOTALL)


def json_object(reply: str) -> dict[str, object] | None:
    """Returns the object that an answer consists of, but for thoughts and a fence; None for any
    other answer, and for an object that has a name twice."""
    text = without_thoughts(reply)
    fenced = _FENCE.fullmatch(text)
    if len(text) > _MOST_CHARS:
        return None
    try:
        found = json.loads(fenced[1] if fenced else text, object_pairs_hook=_no_name_twice)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def without_thoughts(reply: str) -> str:
    """Returns what an answer says."""
    return _THOUGHTS.sub("", reply).strip()


def _no_name_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands there twice")
    return found
