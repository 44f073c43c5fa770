"""The one owner task: open the engine, choose the embedder, keep the index up, behind the bot."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from astrbot.api import logger

from ..llm_memory import Engine, EngineOff
from ..llm_memory.index.embedding.ports import Embedder
from ..llm_memory.texts import Texts
from .host.memory_share import MemoryShare
from .migrations.memory_scope_migration import MemoryScopeMigration
from .services.feedback_service import FeedbackService
from .services.sleep_schedule import SleepSchedule

_PATIENCE_SECONDS = 120.0
"""AstrBot says when it is up, but not to a plugin that is loaded afterwards."""
_BREATH_SECONDS = 5.0
"""After AstrBot's own start, before the index: importing Chroma and reading a dictionary take the
interpreter for seconds, while the panel gives its first answers and the chat platforms connect."""


class BackgroundInitializer:
    """Runs until cancelled. Whatever it meets is logged; nothing reaches AstrBot.

    ``choose`` is asked for the embedder once AstrBot has loaded its providers. ``fault`` is empty,
    or says why the task ended before its time.
    """

    def __init__(
        self,
        engine: Engine,
        choose: Callable[[], Embedder | None],
        texts: Texts,
        version: str,
        feedback: FeedbackService,
        schedule: SleepSchedule,
        share: MemoryShare,
    ) -> None:
        self._engine = engine
        self._choose = choose
        self._texts = texts
        self._version = version
        self._feedback = feedback
        self._schedule = schedule
        self._share = share
        self._up = asyncio.Event()
        self._just_started = True
        self.fault = ""

    def astrbot_is_up(self, *, just_started: bool = True) -> None:
        """The hook fired, or a message came; or AstrBot was up long before this load."""
        if not self._up.is_set():
            self._just_started = just_started
            self._up.set()

    async def run(self) -> None:
        """Open; keep up with the files from then on; choose, and keep the index up."""
        following: asyncio.Task[None] | None = None
        migrating: asyncio.Task[None] | None = None
        reading: asyncio.Task[None] | None = None
        sleeping: asyncio.Task[None] | None = None
        try:
            await self._engine.open()
            following = asyncio.create_task(self._engine.follow(), name="scoped-memory-files")
            await self._announce()
            await self._share.open()
            await self._engine.scan_notes()
            await self._wait_for_astrbot()
            if self._just_started:
                await asyncio.sleep(_BREATH_SECONDS)
            migration = MemoryScopeMigration(self._engine, self._texts)
            migrating = asyncio.create_task(migration.run(), name="scoped-memory-migrations")
            reading = asyncio.create_task(self._feedback.run(), name="scoped-memory-reader")
            embedder = self._choose()
            sleeping = asyncio.create_task(self._schedule.run(), name="scoped-memory-nights")
            if embedder is None:
                logger.info(self._texts.say("log.words_alone"))
            else:
                logger.info(self._texts.say("log.embedder", label=embedder.label))
            await self._engine.run(embedder)
        except EngineOff:
            return  # the notice has said it
        except Exception:  # noqa: BLE001  (the last place that can tell; recall goes on by scanning)
            self.fault = self._texts.say("log.owner_failed")
            logger.exception(self.fault)
            if following is not None:
                await following  # files go on without the index
        finally:
            await self._share.close()
            began = (sleeping, reading, migrating, following)
            behind = [task for task in began if task is not None]
            for task in behind:
                task.cancel()
            await asyncio.gather(*behind, return_exceptions=True)

    async def _announce(self) -> None:
        say = self._texts.say
        summary = await self._engine.service.admin.map_summary()
        status = await self._engine.status()
        logger.info(say("log.opened", version=self._version, total=status.total))
        if not summary.by_scope:
            logger.info(say("log.map_empty"))
        for scope, keys in summary.by_scope.items():
            logger.info(say("log.map_scope", scope=scope, keys=", ".join(keys)))
        if summary.ignored or summary.held:
            logger.warning(say("log.map_bad", ignored=summary.ignored, held=summary.held))

    async def _wait_for_astrbot(self) -> None:
        """It has its providers then, too."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self._up.wait()
