"""A diary without what was so then and is so no more. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from ...text.normalising import normalise

_HEAD: Final = re.compile(r"[^：]{0,40}：")
_COUNT: Final = re.compile(r"\d+ 条")
_BETWEEN: Final = "；"

type Left = Callable[[str, str], str]
"""What is left of some words, and who said them, empty for nobody known."""


def current(text: str, left: Left, *, listed: bool) -> str:
    """A diary's words, empty where none is left. ``listed``: it lists entries, each with its
    speaker: of these one is left alone, or goes with its speaker, for it may be no more than the
    beginning of what was said."""
    head = _HEAD.match(text)
    told = text[head.end() :] if head else text
    if not listed:
        kept = left(told, "")
        return text if kept == told else _whole(head, kept)
    entries = told.split(_BETWEEN)
    still = [entry for entry in entries if _is_left(entry, left)]
    if len(still) == len(entries):
        return text
    return _COUNT.sub(f"{len(still)} 条", _whole(head, _BETWEEN.join(still)), count=1)


def _is_left(entry: str, left: Left) -> bool:
    speaker = _HEAD.match(entry)
    words = entry[speaker.end() :] if speaker else entry
    return left(words, speaker[0][:-1] if speaker else "") == words


def _whole(head: re.Match[str] | None, told: str) -> str:
    return f"{head[0] if head else ''}{told}" if normalise(told) else ""
