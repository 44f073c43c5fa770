"""Recalled memories as one fenced piece of text: data, never instructions."""

from __future__ import annotations

import html
from collections.abc import Sequence

from ...llm_memory import Hit
from ..texts import Texts

OPEN = "<scoped_memory>"
CLOSE = "</scoped_memory>"


def fence(hits: Sequence[Hit], texts: Texts) -> str:
    """The hits, one a line, between delimiters that no memory, name or tag can write."""
    lines = [_line(number, hit, texts) for number, hit in enumerate(hits, start=1)]
    return "\n".join([OPEN, texts.say("inject.preamble"), *lines, CLOSE])


def _line(number: int, hit: Hit, texts: Texts) -> str:
    who = safe(hit.who) or texts.say("inject.nobody")
    date = hit.created_at.strftime("%Y-%m-%d")
    return f"{number}. [{date} · {who} · {safe_pointer(hit.pointer)}] {safe(hit.preview)}"


def safe_pointer(pointer: str) -> str:
    """A pointer whose file name, which a person may have chosen, forges nothing."""
    path, mark, memory_id = pointer.rpartition("#")
    return f"{safe(path)}{mark}{memory_id}"


def safe(text: str) -> str:
    """``text`` on one line, unable to close the fence or to look like a pointer."""
    escaped = html.escape(" ".join(text.split()), quote=False)
    return escaped.replace("#m-", "&#35;m-").replace("^m-", "&#94;m-")
