"""The one owner task: open the engine, choose the embedder, keep the index up, behind the bot."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from astrbot.api import logger

from ..llm_memory import Engine, EngineOff
from .providers import choose_embedder

if TYPE_CHECKING:
    from .plugin_context import PluginContext

_PATIENCE_SECONDS = 120.0
"""AstrBot says when it is up, but not to a plugin that is loaded afterwards."""


class BackgroundInitializer:
    """Runs until cancelled. Whatever it meets is logged; nothing reaches AstrBot."""

    def __init__(self, plugin: PluginContext, engine: Engine) -> None:
        self._plugin = plugin
        self._engine = engine
        self._up = asyncio.Event()

    def astrbot_is_up(self) -> None:
        """The hook fired, or a message came."""
        self._up.set()

    async def run(self) -> None:
        """Open, choose, follow."""
        try:
            await self._engine.open()
            await self._announce()
            await self._wait_for_providers()
            embedder = choose_embedder(self._plugin)
            logger.info(self._plugin.texts.say("log.embedder", label=embedder.label))
            await self._engine.run(embedder)
        except EngineOff:
            return  # the notice has said it
        except Exception:  # noqa: BLE001  (the last place that can tell; recall goes on by scanning)
            logger.exception(self._plugin.texts.say("log.owner_failed"))
            self._plugin.faults.append(self._plugin.texts.say("log.owner_failed"))

    async def _announce(self) -> None:
        texts = self._plugin.texts
        summary = await self._plugin.service.map_summary()
        status = await self._engine.status()
        logger.info(texts.say("log.opened", version=self._plugin.version, total=status.total))
        if not summary.by_scope:
            logger.info(texts.say("log.map_empty"))
        for scope, keys in summary.by_scope.items():
            logger.info(texts.say("log.map_scope", scope=scope, keys=", ".join(keys)))
        if summary.ignored or summary.held:
            logger.warning(texts.say("log.map_bad", ignored=summary.ignored, held=summary.held))

    async def _wait_for_providers(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self._up.wait()
