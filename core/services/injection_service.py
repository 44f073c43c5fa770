"""Recalled memories as one fenced piece of text, data and never instructions, and where it goes."""

from __future__ import annotations

from collections.abc import Sequence

from astrbot.api.provider import ProviderRequest
from astrbot.core.agent.message import TextPart

from ...llm_memory import Byline, Hit
from ...llm_memory.catalogue.rules.bylines import UNKNOWN, as_one_name
from ..safe_text import note_title, safe, safe_pointer
from ..texts import Texts

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


def fence(hits: Sequence[Hit], texts: Texts) -> str:
    """The hits, one a line, between delimiters that no memory, name or tag can write."""
    lines = [f"{n}. {hit_line(hit, texts)}" for n, hit in enumerate(hits, start=1)]
    return "\n".join([OPEN, texts.say("inject.preamble"), *lines, CLOSE])


def hit_line(hit: Hit, texts: Texts) -> str:
    """One recalled memory: date, speaker, a word where something newer was said and where nobody
    vouches for it, pointer, preview. One piece of a note: the word for it, date, headings, pointer,
    preview; what a memory's line begins with is a date, for any speaker."""
    if hit.is_note:
        about = [texts.say("inject.note"), f"{hit.created_at:%Y-%m-%d}"]
        about += [note_title(hit.headings)] if hit.headings else []
        return f"[{' · '.join(about)} · {safe_pointer(hit.pointer)}] {safe(hit.preview)}"
    said = (hit, *hit.also)
    text = safe(hit.preview)
    about = [f"{hit.created_at:%Y-%m-%d}", speakers(said, texts)]
    if hit.closed or hit.earlier:
        about.append(texts.say("inject.closed" if hit.closed else "inject.earlier"))
    if hit.quoted:
        text = texts.say("inject.quoted", text=text)
    elif all(one.unvouched for one in said):
        about.append(texts.say("inject.unvouched"))
    return f"[{' · '.join(about)} · {safe_pointer(hit.pointer)}] {text}"


def speakers(said: Sequence[Hit], texts: Texts) -> str:
    """Who said it, each once, with what stands behind the name; of a day's journal that it is one,
    and a word where no speaker is known."""
    if said[0].journal:
        return texts.say("inject.journal")
    named = [f"{as_one_name(safe(hit.who))}{byline(hit.byline, texts)}" for hit in said if hit.who]
    nobody = f"{texts.say('inject.nobody')}{byline(said[0].byline, texts)}"
    return texts.say("private.and").join(dict.fromkeys(named)) or nobody


def byline(about: Byline, texts: Texts) -> str:
    """What stands behind a speaker's name, between brackets that no name can hold: an admin, the
    account, and that no person here has said it. Empty where the name alone is enough."""
    if about.admin:
        said = [texts.say("inject.admin")]
    elif about.account == UNKNOWN:
        said = [texts.say("inject.account_unknown")]
    else:
        said = [texts.say("inject.account", end=about.account)] if about.account else []
    said += [texts.say("inject.elsewhere")] if about.elsewhere else []
    return f"〔{texts.say('private.and').join(said)}〕" if said else ""
