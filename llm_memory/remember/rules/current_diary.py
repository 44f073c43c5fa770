"""Removes from a diary what is no longer so. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from ...text.normalising import normalise

_HEAD: Final = re.compile(r"[^：]{0,40}：")
_COUNT: Final = re.compile(r"\d+ 条")
_BETWEEN: Final = "；"

type Left = Callable[[str, str], str]
"""Given words and their speaker, empty if unknown, returns what is left of the words."""


def current(text: str, left: Left, *, listed: bool) -> str:
    """Returns what is left of a diary's words, possibly empty. ``listed``: it lists entries, each
    with its speaker: an entry is kept or dropped as a whole with its speaker, for it may be only
    the beginning of what was said."""
    head = _HEAD.match(text)
    body = text[head.end() :] if head else text
    if not listed:
        kept = left(body, "")
        return text if kept == body else _whole(head, kept)
    entries = body.split(_BETWEEN)
    still = [entry for entry in entries if _is_left(entry, left)]
    if len(still) == len(entries):
        return text
    return _COUNT.sub(f"{len(still)} 条", _whole(head, _BETWEEN.join(still)), count=1)


def _is_left(entry: str, left: Left) -> bool:
    speaker = _HEAD.match(entry)
    words = entry[speaker.end() :] if speaker else entry
    return left(words, speaker[0][:-1] if speaker else "") == words


def _whole(head: re.Match[str] | None, body: str) -> str:
    return f"{head[0] if head else ''}{body}" if normalise(body) else ""
