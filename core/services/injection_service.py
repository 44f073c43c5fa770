"""Where what the memory tells goes in a request."""

from __future__ import annotations

from astrbot.api.provider import ProviderRequest
from astrbot.core.agent.message import TextPart

from ...llm_memory.models.recall import Recall
from ...llm_memory.texts import Texts


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


def found_text(texts: Texts, recall: Recall) -> str:
    """How many memories a search shows, and how many hold its words where those are more."""
    shown, holding = len(recall.hits), recall.trace.holding
    if holding > shown + sum(len(hit.also) for hit in recall.hits):
        return texts.say("search.head_of", count=shown, all=holding)
    return texts.say("search.head", count=shown)
