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
    cancelled. What goes wrong stands in the status. The log hears of each change once, and every
    half a minute how far it is."""
    bringing = asyncio.create_task(engine.migrate(), name="scoped-memory-migrate")
    clock = asyncio.get_running_loop().time
    said, told_at = "", clock()
    try:
        while not bringing.done():
            await asyncio.wait([bringing], timeout=_LOOK_SECONDS)
            status = engine.migrations.status()
            state, runs = state_text(texts, status), status.state is MigrationState.RUNNING
            idle = status.state is MigrationState.IDLE and not status.reversed
            if idle or (runs and not status.remaining and not status.waiting):
                continue
            if state == said and not (runs and clock() - told_at > 30.0):
                continue
            said, told_at = state, clock()
            failed = status.state is MigrationState.FAILED
            write = logger.error if failed else logger.warning if status.waiting else logger.info
            numbers = numbers_text(texts, status.tally, status.remaining)
            write(texts.say("log.migration", state=state, numbers=numbers))
    finally:
        bringing.cancel()
        await asyncio.gather(bringing, return_exceptions=True)
