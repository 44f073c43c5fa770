"""Edits of JSON files of a person's. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, Final

from ..errors import HomeError
from ..vault.markdown.topic_file import BOM
from .file_changes import Edit

_DEEPEST: Final = 32
"""The deeper a value lies, the more blanks are written before it: a small file could grow huge."""


def json_edit(change: Callable[[dict[str, Any]], None]) -> Edit:
    """Returns the edit of a JSON file that ``change`` makes in the object of its text.

    The file is written anew, with its byte order mark and its line ends. Nothing of it is written
    if the object stays as it is. ``change`` may raise HomeError; so does text that is no object,
    and text that would lose something: a name that is there twice, a number that is too large.
    """

    def edit(text: str) -> str:
        content = _parsed(text.removeprefix(BOM))
        before = json.dumps(content)
        change(content)
        if json.dumps(content) == before:
            return text
        after = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        after = after.replace("\n", "\r\n") if "\r\n" in text else after
        return BOM + after if text.startswith(BOM) else after

    return edit


def member[Found](content: dict[str, Any], name: str, kind: type[Found]) -> Found:
    """Returns what an object has under a name, which is made if it is missing. Raises HomeError if
    it is of another kind."""
    found = content.setdefault(name, kind())
    if not isinstance(found, kind):
        wanted = "JSON object" if kind is dict else "JSON array"
        raise HomeError("rewrite.other_kind", name=name, wanted=wanted)
    return found


def _parsed(text: str) -> dict[str, Any]:
    """Raises HomeError."""
    content: Any = None
    try:
        content = json.loads(
            text if text.strip() else "{}",
            object_pairs_hook=_members,
            parse_constant=_number,
            parse_float=_number,
        )
        deep = _depth(content) > _DEEPEST
    except json.JSONDecodeError as error:
        raise HomeError(
            "rewrite.no_json", line=error.lineno, column=error.colno, reason=error.msg
        ) from error
    except ValueError as error:  # an integer of thousands of digits
        raise HomeError("path.unreadable", why=error) from error
    except RecursionError:
        deep = True
    if deep:
        raise HomeError("rewrite.too_deep")
    if not isinstance(content, dict):
        raise HomeError("rewrite.no_object")
    return content


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise HomeError("rewrite.twice", name=f"{name[:40]!r}")
        found[name] = value
    return found


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise HomeError("rewrite.no_number", number=text[:40])
    return number


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, inner), default=0) if isinstance(value, dict | list) else 0
