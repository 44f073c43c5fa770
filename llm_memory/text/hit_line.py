"""Recalled memories as one fenced piece of text: data, and never instructions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..models.data_models import shown_day
from ..models.recall import Hit
from ..texts import Texts
from .attribution import speakers, standing
from .normalising import ELLIPSIS, estimate_tokens
from .safe_text import note_title, safe, safe_pointer

OPEN: Final = "<scoped_memory>"
CLOSE: Final = "</scoped_memory>"
_MANY = 10
"""The widest number that stands before a line."""


def fence(hits: Sequence[Hit], texts: Texts, left_out: int = 0) -> str:
    """The hits between delimiters that no memory, name or tag can write."""
    lines = hit_lines(hits, texts, left_out)
    return "\n".join([OPEN, texts.say("inject.preamble"), *lines, CLOSE])


def fence_tokens(texts: Texts) -> int:
    """What stands round the hits costs."""
    return estimate_tokens(fence((), texts, left_out=_MANY))


def line_tokens(hit: Hit, texts: Texts) -> int:
    """What a hit costs between the fences."""
    return estimate_tokens(f"{_MANY}. {hit_line(hit, texts)}\n")


def hit_lines(hits: Sequence[Hit], texts: Texts, left_out: int) -> list[str]:
    """The hits, one a line, and how many more there are."""
    lines = [f"{n}. {hit_line(hit, texts)}" for n, hit in enumerate(hits, start=1)]
    return [*lines, texts.say("inject.more", count=left_out)] if left_out else lines


def hit_line(hit: Hit, texts: Texts, *, pointing: bool = True) -> str:
    """One recalled memory: date, speaker, a word where something newer was said and where nobody
    vouches for it, pointer, preview. One piece of a note: the word for it, date, headings, the same
    words, pointer, preview; what a memory's line begins with is a date, for any speaker. Where it
    is not ``pointing``, only what is cut has its pointer."""
    text = safe(hit.preview)
    if hit.is_note:
        title = [note_title(hit.headings)] if hit.headings else []
        about = [texts.say("inject.note"), shown_day(hit.day, ""), *title]
    else:
        text = texts.say("inject.quoted", text=text) if hit.quoted else text
        about = [shown_day(hit.day, texts.say("inject.undated")), speakers(hit, texts.say)]
    about = [*about, *standing(hit, texts.say)]
    if pointing or hit.preview.endswith(ELLIPSIS):
        about.append(safe_pointer(hit.pointer))
    return f"[{' · '.join(about)}] {text}"
