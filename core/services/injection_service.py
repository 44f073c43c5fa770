"""Recalled memories as one fenced piece of text, data and never instructions, and where it goes."""

from __future__ import annotations

from collections.abc import Sequence

from astrbot.api.provider import ProviderRequest
from astrbot.core.agent.message import TextPart

from ...llm_memory import Hit
from ...llm_memory.models.data_models import shown_day
from ...llm_memory.models.recall import Recall
from ...llm_memory.text.attribution import speakers, standing
from ...llm_memory.text.safe_text import note_title, safe, safe_pointer
from ...llm_memory.texts import Texts

OPEN = "<scoped_memory>"
CLOSE = "</scoped_memory>"


def inject(request: ProviderRequest, text: str, *, as_prompt: bool) -> None:
    """Put a text into a request, behind the person's own words. ``as_prompt``: into the prompt,
    for runners that read nothing else."""
    if as_prompt:
        request.prompt = f"{request.prompt or ''}\n\n{text}"
    else:
        # Temporary: never saved to the history. And the system prompt stays as it is, so that the
        # provider's prefix cache holds.
        request.extra_user_content_parts.append(TextPart(text=text).mark_as_temp())


def add_manner(request: ProviderRequest, manner: str) -> None:
    """Put what a persona has learned of its manner at the end of the system prompt, once. It stays
    the same for as long as it is in force, and what stands before it is cached all the time."""
    if manner not in (prompt := request.system_prompt or ""):
        request.system_prompt = prompt + manner


def fence(hits: Sequence[Hit], texts: Texts, left_out: int = 0) -> str:
    """The hits between delimiters that no memory, name or tag can write."""
    lines = hit_lines(hits, texts, left_out)
    return "\n".join([OPEN, texts.say("inject.preamble"), *lines, CLOSE])


def hit_lines(hits: Sequence[Hit], texts: Texts, left_out: int) -> list[str]:
    """The hits, one a line, and how many more there are."""
    lines = [f"{n}. {hit_line(hit, texts)}" for n, hit in enumerate(hits, start=1)]
    return [*lines, texts.say("inject.more", count=left_out)] if left_out else lines


def hit_line(hit: Hit, texts: Texts) -> str:
    """One recalled memory: date, speaker, a word where something newer was said and where nobody
    vouches for it, pointer, preview. One piece of a note: the word for it, date, headings, the same
    words, pointer, preview; what a memory's line begins with is a date, for any speaker."""
    if hit.is_note:
        about = [texts.say("inject.note"), f"{hit.day:%Y-%m-%d}"]
        about += [note_title(hit.headings)] if hit.headings else []
        about += standing(hit, texts.say)
        return f"[{' · '.join(about)} · {safe_pointer(hit.pointer)}] {safe(hit.preview)}"
    text = safe(hit.preview)
    if hit.quoted:
        text = texts.say("inject.quoted", text=text)
    day = shown_day(hit.day, texts.say("inject.undated"))
    about = [day, speakers(hit, texts.say), *standing(hit, texts.say)]
    return f"[{' · '.join(about)} · {safe_pointer(hit.pointer)}] {text}"


def found_text(texts: Texts, recall: Recall) -> str:
    """How many memories a search shows, and how many hold its words where those are more."""
    shown, holding = len(recall.hits), recall.trace.holding
    if holding > shown + sum(len(hit.also) for hit in recall.hits):
        return texts.say("search.head_of", count=shown, all=holding)
    return texts.say("search.head", count=shown)
