"""``/memory pause`` and ``/memory resume``: a conversation off the record, and on it again."""

from __future__ import annotations

from ...llm_memory import NotAllowed, Paused, Rejected, Resumed, StateUnavailable
from ...llm_memory.text.dates.lasting import end_of
from ...llm_memory.text.refusal_words import refusal_words
from ...llm_memory.text.safe_text import safe
from .call import SHOWN, Call, no_words


async def pause(call: Call) -> str:
    """Nothing of this conversation is kept or recalled from now on, or for the time that is said
    behind the word."""
    until = end_of(call.rest, call.plugin.clock()) if call.rest else None
    if call.rest and until is None:
        return call.say("pause.no_time", words=safe(call.rest)[:SHOWN])
    try:
        outcome = await call.service.pause(
            conversation_id=call.where, actor=call.actor, until=until
        )
    except StateUnavailable as error:
        return call.say("pause.not_written", detail=error.cause)
    match outcome:
        case Paused():
            return call.paused(outcome, "pause.already" if outcome.before else "pause.done")
        case NotAllowed():
            return call.say("pause.not_allowed")
        case Rejected():
            return call.texts.said(refusal_words(outcome))


@no_words
async def resume(call: Call) -> str:
    """As before the pause."""
    try:
        outcome = await call.service.resume(conversation_id=call.where, actor=call.actor)
    except StateUnavailable as error:
        return call.say("pause.not_written", detail=error.cause)
    match outcome:
        case Resumed(before):
            return call.say("pause.not_paused" if before else "pause.resumed")
        case NotAllowed():
            return call.say("pause.not_allowed")
