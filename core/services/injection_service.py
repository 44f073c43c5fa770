"""Recalled memories as one fenced piece of text: data, never instructions."""

from __future__ import annotations

from collections.abc import Sequence

from ...llm_memory import Hit
from ..texts import Texts

OPEN = "<scoped_memory>"
CLOSE = "</scoped_memory>"
_BRACKETS = str.maketrans("<>", "‹›")


def fence(hits: Sequence[Hit], texts: Texts) -> str:
    """The hits, one a line, between delimiters that no memory, name or tag can write."""
    lines = [f"{n}. {hit_line(hit, texts)}" for n, hit in enumerate(hits, start=1)]
    return "\n".join([OPEN, texts.say("inject.preamble"), *lines, CLOSE])


def hit_line(hit: Hit, texts: Texts) -> str:
    """One recalled memory: date, speaker, pointer, preview."""
    who = safe(hit.who) or texts.say("inject.nobody")
    return f"[{hit.created_at:%Y-%m-%d} · {who} · {safe_pointer(hit.pointer)}] {safe(hit.preview)}"


def safe_pointer(pointer: str) -> str:
    """A pointer whose file name, which a person may have chosen, forges nothing."""
    path, mark, memory_id = pointer.rpartition("#")
    return f"{safe(path)}{mark}{memory_id}"


def safe(text: str) -> str:
    """``text`` on one line, unable to close the fence or to look like a pointer.

    Character for character, so that it is as long, and costs as much, as it was counted.
    """
    return " ".join(text.split()).translate(_BRACKETS).replace("#m-", "＃m-").replace("^m-", "＾m-")
