"""When what comes from elsewhere is brought, and what the log hears of it."""

from __future__ import annotations

import asyncio

from astrbot.api import logger

from ...llm_memory import Engine, MigrationState, MigrationStatus
from ...llm_memory.texts import Texts
from ..replies.status_text import numbers_text, state_text

_LOOK_SECONDS = 1.0
_TELL_SECONDS = 30.0
"""Between two lines about how far it is."""


class MemoryScopeMigration:
    """Runs the engine's migrations behind the bot until cancelled."""

    def __init__(self, engine: Engine, texts: Texts) -> None:
        self._engine = engine
        self._texts = texts
        self._said: tuple[object, ...] = (MigrationState.IDLE, "", False)
        self._told_at = 0.0

    async def run(self) -> None:
        """Bring everything, and go on listening for what admins ask. Nothing is raised: what goes
        wrong stands in the status."""
        bringing = asyncio.create_task(self._engine.migrate(), name="scoped-memory-migrate")
        try:
            while not bringing.done():
                await asyncio.wait([bringing], timeout=_LOOK_SECONDS)
                self._tell(self._engine.migrations.status())
        finally:
            bringing.cancel()
            await asyncio.gather(bringing, return_exceptions=True)

    def _tell(self, status: MigrationStatus) -> None:
        """Each change once, and now and then how far it is."""
        now = asyncio.get_running_loop().time()
        what = (status.state, status.waiting, status.reversed, status.remaining > 0)
        moving = status.state is MigrationState.RUNNING and status.remaining > 0
        if what == self._said and not (moving and now - self._told_at > _TELL_SECONDS):
            return
        self._said, self._told_at = what, now
        idle = status.state is MigrationState.IDLE and not status.reversed
        if idle or (status.state is MigrationState.RUNNING and not moving and not status.waiting):
            return
        state = state_text(self._texts, status)
        numbers = numbers_text(self._texts, status.tally, status.remaining)
        failed = status.state is MigrationState.FAILED
        write = logger.error if failed else logger.warning if status.waiting else logger.info
        write(self._texts.say("log.migration", state=state, numbers=numbers))
