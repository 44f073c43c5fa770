"""What one load of the plugin is made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from astrbot.api import logger

from .commands.commands import Commands
from .deepmind import DeepMind
from .host.web_api import recalls_json, status_json
from .plugin_context import Newest, PluginContext, Reopen


class Parts:
    """Made once AstrBot is up, gone in ``terminate``.

    Attributes:
        plugin: None where the owner has switched the plugin off; then ``mind`` and ``commands`` are
            None, too.
        off: What is answered instead, empty where it is on.
    """

    def __init__(
        self,
        context: Any,
        raw_config: Mapping[str, Any] | None,
        data: Path,
        installing: Callable[[], Collection[str]],
        reopen: Reopen,
        newest: Newest,
    ) -> None:
        """``installing``: the packages that are being installed."""
        plugin = PluginContext(context, raw_config, data, installing, reopen, newest)
        on = plugin.config.enabled
        self.off = "" if on else plugin.texts.say("log.disabled")
        self.plugin = plugin if on else None
        self.mind = DeepMind(plugin) if on else None
        self.commands = Commands(plugin) if on else None

    def open(self, *, just_started: bool) -> None:
        """Start what goes on behind. Returns at once."""
        if self.plugin is None:
            logger.info(self.off)
        else:
            self.plugin.open(just_started=just_started)

    def astrbot_is_up(self) -> None:
        """AstrBot has started."""
        if self.plugin is not None:
            self.plugin.astrbot_is_up()

    async def status(self) -> dict[str, Any]:
        """What the status route answers."""
        return await status_json(self.plugin)

    def recalls(self) -> dict[str, Any]:
        """What the route of the last recalls answers."""
        return recalls_json(self.plugin)

    async def close(self) -> None:
        """Close the plugin. Idempotent."""
        if self.plugin is not None:
            await self.plugin.close()
