"""The one owner task: open the engine, choose the embedder, keep the index up, behind the bot."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any

from astrbot.api import logger

from ..llm_memory import EngineOff
from .migrations.memory_scope_migration import bring_memories

if TYPE_CHECKING:
    from .plugin_context import PluginContext

_PATIENCE_SECONDS = 120.0
"""AstrBot says when it is up, but not to a plugin that is loaded afterwards."""
_BREATH_SECONDS = 5.0
"""After AstrBot's own start, before the index: importing Chroma and reading a dictionary take the
interpreter for seconds, while the panel gives its first answers and the chat platforms connect."""


class BackgroundInitializer:
    """Runs until cancelled. Whatever it meets is logged; nothing reaches AstrBot.

    Attributes:
        fault: Why the task ended before its time; empty while it has not.
    """

    def __init__(self, plugin: PluginContext, up: asyncio.Event) -> None:
        """``up`` is set once AstrBot has loaded its providers: then an embedder is chosen."""
        self._plugin = plugin
        self._up = up
        # Else AstrBot was up before this load, or has not said so yet.
        self._breath = _BREATH_SECONDS if up.is_set() else 0.0
        self._tasks: list[asyncio.Task[None]] = []
        self.fault = ""

    async def run(self) -> None:
        """Open; keep up with the files from then on; choose, and keep the index up."""
        plugin, engine, say = self._plugin, self._plugin.engine, self._plugin.texts.say
        async with AsyncExitStack() as stack:
            try:
                await engine.open()
                self._begin(engine.follow(), "files")
                total = (await engine.status()).total
                logger.info(say("log.opened", version=plugin.version, total=total))
                await self._share(stack)
                await engine.scan_notes()
                with suppress(TimeoutError):  # AstrBot has loaded its providers then
                    async with asyncio.timeout(_PATIENCE_SECONDS):
                        await self._up.wait()
                await asyncio.sleep(self._breath)
                self._begin(bring_memories(engine, plugin.texts), "migrations")
                self._begin(engine.reflection.run(), "reader")
                embedder = plugin.choose_embedder()
                self._begin(plugin.schedule.run(), "nights")
                label = "" if embedder is None else embedder.label
                logger.info(say("log.embedder", label=label) if label else say("log.words_alone"))
                await engine.run(embedder)
            except EngineOff:
                return  # the notice has said it
            except Exception as error:  # noqa: BLE001  (the last place that can tell; recall scans)
                self._failed("owner", error)
                if self._tasks:
                    await self._tasks[0]  # files go on without the index
            finally:
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._tasks.append(task := asyncio.create_task(work, name=f"scoped-memory-{name}"))
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(task.get_name(), error)

    def _failed(self, name: str, error: BaseException) -> None:
        self.fault = self._plugin.texts.say("log.owner_failed")
        logger.error(f"{self.fault} ({name})", exc_info=error)

    async def _share(self, stack: AsyncExitStack) -> None:
        """Let coding agents on this machine use the bot's memory until the task ends, where the
        owner has switched it on; a server that cannot listen is told in the log."""
        plugin = self._plugin
        if plugin.config.mcp_share is None:
            return
        # Loaded where it is wanted alone.
        from ..llm_memory.sharing.server import LOOPBACK, SharingServer

        host, _, port = plugin.config.mcp_share.rpartition(":")
        server = SharingServer(
            plugin.service, plugin.paths.state, host=host or LOOPBACK, port=int(port or 0)
        )
        try:
            await server.open()
            stack.push_async_callback(server.close)
        except (ImportError, OSError) as error:
            logger.warning(plugin.texts.say("log.share_failed", detail=error))
