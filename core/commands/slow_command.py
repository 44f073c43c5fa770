"""Commands whose work may take long: the person hears of it soon, the work goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from functools import wraps

from astrbot.api import logger

from ..replies.outcome_text import ENDS, error_text
from ..turn.first_message import tell
from .call import Call, Handler

_PATIENCE_SECONDS = 15.0
"""A model takes its time, and most answers come within this."""


def slow(handler: Handler) -> Handler:
    """What takes longer than ``_PATIENCE_SECONDS`` goes on behind; its end is told in the
    conversation, and what stopped it is in the log."""

    @wraps(handler)
    async def answered(call: Call) -> str:
        task = asyncio.ensure_future(handler(call))
        done, _ = await asyncio.wait([task], timeout=_PATIENCE_SECONDS)
        if done:
            return await task
        call.plugin.spawn(_finish(call, task))
        return call.say("slow.goes_on")

    return answered


async def _finish(call: Call, task: Awaitable[str]) -> None:
    try:
        said = await task
        logger.debug(said)  # it may repeat what somebody said
    except ENDS as error:
        said = error_text(call.texts, error)
        logger.error(said)
    except Exception as error:  # noqa: BLE001  (no one waits for it any more: the log has it)
        said = call.say("outcome.failed", detail=type(error).__name__)
        logger.exception(call.say("log.command_failed"))
    await tell(call.plugin, call.where.umo, said)
