"""``/memory pause`` and ``/memory resume``: a conversation off the record, and on it again."""

from __future__ import annotations

from ...llm_memory import NotAllowed, Paused, Rejected, Resumed, StateUnavailable
from ...llm_memory.text.refusal_words import refusal_words
from .call import Call


async def pause(call: Call) -> str:
    """Nothing of this conversation is kept or recalled from now on."""
    return await _switch(call, on=False)


async def resume(call: Call) -> str:
    """As before the pause."""
    return await _switch(call, on=True)


async def _switch(call: Call, *, on: bool) -> str:
    change = call.service.resume if on else call.service.pause
    try:
        outcome = await change(conversation_id=call.where, actor=call.actor)
    except StateUnavailable as error:
        return call.say("pause.not_written", detail=error.cause)
    match outcome:
        case Paused(since, before):
            return call.paused(since, "pause.already" if before else "pause.done")
        case Resumed(before):
            return call.say("pause.not_paused" if before else "pause.resumed")
        case NotAllowed():
            return call.say("pause.not_allowed")
        case Rejected():
            return call.texts.said(refusal_words(outcome))
