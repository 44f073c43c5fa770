"""The one owner task: open the engine, choose the embedder, keep the index up, behind the bot."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

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


@dataclass(eq=False, slots=True)
class BackgroundInitializer:
    """Runs until cancelled. Whatever it meets is logged; nothing reaches AstrBot.

    Attributes:
        choose: Is asked for the embedder once AstrBot has loaded its providers.
        fault: Why the task ended before its time; empty while it has not.
    """

    engine: Engine
    choose: Callable[[], Embedder | None]
    texts: Texts
    version: str
    feedback: FeedbackService
    schedule: SleepSchedule
    share: MemoryShare
    fault: str = ""
    _up: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _just_started: bool = field(default=True, init=False)

    def astrbot_is_up(self, *, just_started: bool = True) -> None:
        """The hook fired, or a message came; or AstrBot was up long before this load."""
        if not self._up.is_set():
            self._just_started = just_started
            self._up.set()

    async def run(self) -> None:
        """Open; keep up with the files from then on; choose, and keep the index up."""
        tasks: list[asyncio.Task[None]] = []

        def begin(work: Coroutine[Any, Any, None], name: str) -> None:
            tasks.append(asyncio.create_task(work, name=f"scoped-memory-{name}"))

        try:
            await self.engine.open()
            begin(self.engine.follow(), "files")
            await self._announce()
            await self.share.open()
            await self.engine.scan_notes()
            await self._wait_for_astrbot()
            if self._just_started:
                await asyncio.sleep(_BREATH_SECONDS)
            begin(MemoryScopeMigration(self.engine, self.texts).run(), "migrations")
            begin(self.feedback.run(), "reader")
            embedder = self.choose()
            begin(self.schedule.run(), "nights")
            if embedder is None:
                logger.info(self.texts.say("log.words_alone"))
            else:
                logger.info(self.texts.say("log.embedder", label=embedder.label))
            await self.engine.run(embedder)
        except EngineOff:
            return  # the notice has said it
        except Exception:  # noqa: BLE001  (the last place that can tell; recall goes on by scanning)
            self.fault = self.texts.say("log.owner_failed")
            logger.exception(self.fault)
            if tasks:
                await tasks[0]  # files go on without the index
        finally:
            await self.share.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _announce(self) -> None:
        say = self.texts.say
        summary = await self.engine.service.admin.map_summary()
        status = await self.engine.status()
        logger.info(say("log.opened", version=self.version, total=status.total))
        if not summary.by_scope:
            logger.info(say("log.map_empty"))
        for scope, keys in summary.by_scope.items():
            logger.info(say("log.map_scope", scope=scope, keys=", ".join(keys)))
        if summary.ignored or summary.held:
            logger.warning(say("log.map_bad", ignored=summary.ignored, held=summary.held))

    async def _wait_for_astrbot(self) -> None:
        """AstrBot has loaded its providers then."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self._up.wait()
