"""The bot never waits for its memory: what is asked in a turn, and its deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from astrbot.api import logger

from ...llm_memory import EngineClosed, EngineOff
from ..plugin_context import PluginContext

LATE = "deadline"


async def in_time[T](
    plugin: PluginContext,
    work: Callable[[], Awaitable[T]],
    otherwise: Callable[[str], T],
    *,
    late: str = "",
    failed: str,
) -> T:
    """What ``work`` answers before the recall deadline; whatever goes wrong, the turn goes on.

    Args:
        otherwise: Makes the answer from why there is none: ``LATE`` or an error's class.
        late: The text to log where it came too late; empty for none.
        failed: The text to log where nobody knows why it failed.
    """
    milliseconds = plugin.config.recall_deadline_ms
    try:
        async with asyncio.timeout(milliseconds / 1000):
            return await work()
    except TimeoutError:
        if late:
            logger.warning(plugin.texts.say(late, ms=milliseconds))
        return otherwise(LATE)
    except (EngineClosed, EngineOff) as error:
        return otherwise(type(error).__name__)  # a reload, or the notice has said it
    except Exception as error:  # noqa: BLE001  (whatever it is, the turn goes on without)
        logger.exception(plugin.texts.say(failed))
        return otherwise(type(error).__name__)
