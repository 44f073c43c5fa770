"""When what comes from elsewhere is brought, and what the log hears of it."""

from __future__ import annotations

import asyncio

from astrbot.api import logger

from ...llm_memory import Engine, MigrationState
from ...llm_memory.texts import Texts
from ..replies.status_text import numbers_text, state_text

_LOOK_SECONDS = 1.0


async def bring_memories(engine: Engine, texts: Texts) -> None:
    """Run the engine's migrations behind the bot, and go on listening for what admins ask, until
    cancelled. The log hears of each change; how far it is, and what goes wrong, says the status."""
    bringing, said = asyncio.create_task(engine.migrate()), ""
    try:
        while not bringing.done():
            await asyncio.wait([bringing], timeout=_LOOK_SECONDS)
            status = engine.migrations.status()
            state = state_text(texts, status)
            begins = status.state is MigrationState.RUNNING and not status.remaining
            idle = status.state is MigrationState.IDLE and not status.reversed
            if state != said and not idle and (status.waiting or not begins):
                said, failed = state, status.state is MigrationState.FAILED
                write = logger.warning if failed or status.waiting else logger.info
                numbers = numbers_text(texts, status.tally, status.remaining)
                write(texts.say("log.migration", state=state, numbers=numbers))
    finally:
        bringing.cancel()
        await asyncio.gather(bringing, return_exceptions=True)
