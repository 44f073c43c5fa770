"""``/memory pause`` and ``/memory resume``: a conversation off the record, and on it again."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ...llm_memory import Paused, Resumed, StateUnavailable
from ...llm_memory.text.dates.lasting import end_of
from ...llm_memory.text.safe_text import cut
from ..replies.outcome_text import Enough
from .call import Call, no_words


async def pause(call: Call) -> str:
    """Nothing of this conversation is kept or recalled from now on, or for the time that is said
    behind the word."""
    until = end_of(call.rest, call.plugin.clock()) if call.rest else None
    if call.rest and until is None:
        return call.say("pause.no_time", words=cut(call.rest))
    async with _written(call):
        outcome = await call.service.pause(
            conversation_id=call.where, actor=call.actor, until=until
        )
    if isinstance(outcome, Paused):
        return call.paused(outcome, "status.paused" if outcome.before else "pause.done")
    return call.refused(outcome, "pause.not_allowed")


@no_words
async def resume(call: Call) -> str:
    """As before the pause."""
    async with _written(call):
        outcome = await call.service.resume(conversation_id=call.where, actor=call.actor)
    if isinstance(outcome, Resumed):
        return call.say("pause.not_paused" if outcome.before else "pause.resumed")
    return call.refused(outcome, "pause.not_allowed")


@asynccontextmanager
async def _written(call: Call) -> AsyncGenerator[None]:
    try:
        yield
    except StateUnavailable as error:
        raise Enough(call.say("pause.not_written", detail=error.cause)) from error
