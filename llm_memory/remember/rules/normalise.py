"""Validates and tidies drafts for storage."""

from __future__ import annotations

from dataclasses import replace

from ...models.conversation import Actor
from ...models.data_models import MAX_STRENGTH, MIN_STRENGTH, MemoryDraft, Reason, Refused
from ...text.normalising import clean, normalise, one_line

MAX_JUDGMENT = 2_000
MAX_REASONING = 8_000
MAX_TAGS = 12
MAX_TAG = 40
MAX_ASKS = 3
MAX_ASK = 80
MAX_NAME = 64


def tidy(draft: MemoryDraft) -> MemoryDraft | Refused:
    """Returns the draft as it may be stored: visible characters only, lengths bounded.

    A text that is too long is rejected rather than cut: half a memory is a wrong memory. Tags,
    questions and names are only labels, and are cut.
    """
    judgment = clean(draft.judgment)
    reasoning = clean(draft.reasoning)
    if not normalise(judgment):
        return Refused(Reason.EMPTY)
    for text, most in ((judgment, MAX_JUDGMENT), (reasoning, MAX_REASONING)):
        if len(text) > most:
            return Refused(Reason.TOO_LONG, detail=str(most))
    tags = dict.fromkeys(one_line(clean(tag))[:MAX_TAG].rstrip() for tag in draft.tags)
    asks = dict.fromkeys(one_line(clean(ask))[:MAX_ASK].rstrip() for ask in draft.asks)
    return replace(
        draft,
        judgment=judgment,
        reasoning=reasoning,
        tags=tuple(tag for tag in tags if tag)[:MAX_TAGS],
        asks=tuple(ask for ask in asks if ask)[:MAX_ASKS],
        strength=min(max(draft.strength, MIN_STRENGTH), MAX_STRENGTH),
        actor=_tidy_actor(draft.actor) if draft.actor else None,
        context=one_line(clean(draft.context))[:MAX_JUDGMENT],
    )


def _tidy_actor(actor: Actor) -> Actor:
    return replace(actor, name=one_line(clean(actor.name))[:MAX_NAME].rstrip())
