"""The one owner task: open the engine, choose the embedder, keep the index up, behind the bot."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from astrbot.api import logger

from ..llm_memory import CognitiveService, Engine, EngineOff
from ..llm_memory.index.embedding.ports import Embedder
from ..llm_memory.texts import Texts
from .migrations.memory_scope_migration import bring_memories
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
        share: Where coding agents may ask for memories; see ``PluginConfig.mcp_share``.
        state: The folder in which they find where that is.
        fault: Why the task ended before its time; empty while it has not.
    """

    engine: Engine
    choose: Callable[[], Embedder | None]
    texts: Texts
    version: str
    schedule: SleepSchedule
    share: str | None
    state: Path
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
            tasks.append(task := asyncio.create_task(work, name=f"scoped-memory-{name}"))
            task.add_done_callback(self._log_end)

        async with contextlib.AsyncExitStack() as stack:
            try:
                await self.engine.open()
                begin(self.engine.follow(), "files")
                await self._announce()
                await stack.enter_async_context(_shared(self))
                await self.engine.scan_notes()
                with contextlib.suppress(TimeoutError):  # AstrBot has loaded its providers then
                    async with asyncio.timeout(_PATIENCE_SECONDS):
                        await self._up.wait()
                if self._just_started:
                    await asyncio.sleep(_BREATH_SECONDS)
                begin(bring_memories(self.engine, self.texts), "migrations")
                begin(self.engine.reflection.run(), "reader")
                embedder = self.choose()
                begin(self.schedule.run(), "nights")
                say = self.texts.say
                label = "" if embedder is None else embedder.label
                logger.info(say("log.embedder", label=label) if label else say("log.words_alone"))
                await self.engine.run(embedder)
            except EngineOff:
                return  # the notice has said it
            except Exception:  # noqa: BLE001  (the last place that can tell; recall scans)
                self.fault = self.texts.say("log.owner_failed")
                logger.exception(self.fault)
                if tasks:
                    await tasks[0]  # files go on without the index
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    def _log_end(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fault = self.texts.say("log.owner_failed")
            logger.error(f"{self.fault} ({task.get_name()})", exc_info=error)

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


@contextlib.asynccontextmanager
async def _shared(owner: BackgroundInitializer) -> AsyncIterator[None]:
    """Lets coding agents on this machine use the bot's memory, where the owner has switched it
    on; a server that cannot listen is told in the log. Ends when the calls that began are
    answered."""
    service: CognitiveService = owner.engine.service
    server = None
    if owner.share is not None:
        # Loaded where it is wanted alone.
        from ..llm_memory.sharing.server import LOOPBACK, SharingServer

        host, _, port = owner.share.rpartition(":")
        server = SharingServer(service, owner.state, host=host or LOOPBACK, port=int(port or 0))
        try:
            await server.open()
        except (ImportError, OSError) as error:
            logger.warning(owner.texts.say("log.share_failed", detail=error))
            server = None
    try:
        yield
    finally:
        if server is not None:
            await server.close()
