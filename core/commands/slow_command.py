"""Commands whose work may take long: the person hears of it soon, the work goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial, wraps

from astrbot.api import logger
from astrbot.api.event import MessageChain

from ...llm_memory import ScopedMemoryError
from ..plugin_context import PluginContext
from ..replies.outcome_text import error_text
from .call import Call, Handler

_PATIENCE_SECONDS = 5.0
"""What takes longer goes on behind, and its end is written to the log."""


def slow(goes_on: str, seconds: float | None = None) -> Callable[[Handler], Handler]:
    """What takes longer than ``seconds`` is answered with the text ``goes_on``."""

    def mark(handler: Handler) -> Handler:
        @wraps(handler)
        async def answered(call: Call) -> str:
            return await answer_or_continue(call.plugin, partial(handler, call), goes_on, seconds)

        return answered

    return mark


async def answer_or_continue(
    plugin: PluginContext,
    work: Callable[[], Awaitable[str]],
    goes_on: str,
    seconds: float | None = None,
    *,
    tell: str = "",
) -> str:
    """What the work says; or, if it takes long, the text ``goes_on``. ``tell``: the conversation
    that is then told what it says, too."""
    task = asyncio.ensure_future(work())
    done, _ = await asyncio.wait([task], timeout=seconds or _PATIENCE_SECONDS)
    if done:
        return await task
    plugin.spawn(_finish(plugin, task, tell))
    return plugin.texts.say(goes_on)


async def _finish(plugin: PluginContext, task: Awaitable[str], tell: str) -> None:
    try:
        said = await task
        logger.info(said)
    except ScopedMemoryError as error:
        said = error_text(plugin.texts, error)
        logger.error(said)
    except Exception as error:  # noqa: BLE001  (no one waits for it any more: the log has it)
        said = plugin.texts.say("outcome.failed", detail=type(error).__name__)
        logger.exception(plugin.texts.say("log.command_failed"))
    if not tell:
        return
    try:
        await plugin.astrbot.send_message(tell, MessageChain().message(said))
    except Exception:  # noqa: BLE001  (whatever the platform raises, the work is done)
        logger.exception(plugin.texts.say("log.command_failed"))
