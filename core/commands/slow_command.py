"""Commands whose work may take long: the person hears of it soon, the work goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial, wraps

from astrbot.api import logger

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
) -> str:
    """What the work says; or, if it takes long, the text ``goes_on``."""
    task = asyncio.ensure_future(work())
    done, _ = await asyncio.wait([task], timeout=seconds or _PATIENCE_SECONDS)
    if done:
        return await task
    plugin.spawn(_finish(plugin, task))
    return plugin.texts.say(goes_on)


async def _finish(plugin: PluginContext, task: Awaitable[str]) -> None:
    try:
        logger.info(await task)
    except ScopedMemoryError as error:
        logger.error(error_text(plugin.texts, error))
    except Exception:  # noqa: BLE001  (no one waits for it any more: the log has it)
        logger.exception(plugin.texts.say("log.command_failed"))
