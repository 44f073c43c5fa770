"""When what comes from elsewhere is brought, and what the log hears of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from astrbot.api import logger

from ...llm_memory import Engine, MigrationState, MigrationStatus
from ...llm_memory.texts import Texts
from ..replies.status_text import numbers_text, state_text

_LOOK_SECONDS = 1.0
_TELL_SECONDS = 30.0
"""Between two lines about how far it is."""


async def bring_memories(engine: Engine, texts: Texts) -> None:
    """Run the engine's migrations behind the bot, and go on listening for what admins ask, until
    cancelled. What goes wrong stands in the status."""
    bringing = asyncio.create_task(engine.migrate(), name="scoped-memory-migrate")
    tell = _teller(texts)
    try:
        while not bringing.done():
            await asyncio.wait([bringing], timeout=_LOOK_SECONDS)
            tell(engine.migrations.status())
    finally:
        bringing.cancel()
        await asyncio.gather(bringing, return_exceptions=True)


def _teller(texts: Texts) -> Callable[[MigrationStatus], None]:
    """Says in the log each change once, and now and then how far it is."""
    said: tuple[object, ...] = (MigrationState.IDLE, "", False, False)
    told_at = 0.0

    def tell(status: MigrationStatus) -> None:
        nonlocal said, told_at
        now = asyncio.get_running_loop().time()
        what = (status.state, status.waiting, status.reversed, status.remaining > 0)
        runs = status.state is MigrationState.RUNNING
        moving = runs and status.remaining > 0
        if what == said and not (moving and now - told_at > _TELL_SECONDS):
            return
        said, told_at = what, now
        idle = status.state is MigrationState.IDLE and not status.reversed
        if idle or (runs and not moving and not status.waiting):
            return
        failed = status.state is MigrationState.FAILED
        write = logger.error if failed else logger.warning if status.waiting else logger.info
        numbers = numbers_text(texts, status.tally, status.remaining)
        write(texts.say("log.migration", state=state_text(texts, status), numbers=numbers))

    return tell
