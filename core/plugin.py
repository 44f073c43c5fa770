"""The plugin behind AstrBot's hooks: loaded late, opened, made anew, closed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from astrbot.api import logger, sp
from astrbot.api.event import AstrMessageEvent

from ..llm_memory.texts import Texts, chosen_language
from .host.late_start import LateStart, providers_are_loaded
from .host.package_installer import Installs
from .plugin_names import ROOT, plugin_version
from .turn.group_events import GroupChatter, MovedChats

if TYPE_CHECKING:
    from astrbot.api import FunctionTool

    from .commands.commands import Commands
    from .deepmind import DeepMind
    from .plugin_context import PluginContext

LOADING_SECONDS = 10.0
"""How long a speaker waits for a plugin that still loads. Loading takes a second
or two after AstrBot's start, during which the bot would otherwise not have been there at all."""
_PATIENCE = "scoped_memory_patience"
"""The extra of an event that holds how many of these seconds are left."""
_BEHIND_SECONDS = 600.0
"""How long work that holds up no message waits for the parts."""


class Code(NamedTuple):
    """What is imported late."""

    plugin: type[PluginContext]
    mind: type[DeepMind]
    commands: type[Commands]
    tools: tuple[Callable[..., FunctionTool[Any]], ...]


class Loaded(NamedTuple):
    """One load. ``mind`` and ``commands`` are None where the owner has switched the plugin off."""

    plugin: PluginContext
    mind: DeepMind | None
    commands: Commands | None

    async def close(self) -> None:
        """Idempotent."""
        await self.plugin.close()


class Plugin(LateStart[Code, Loaded]):
    """All that AstrBot's hooks ask."""

    def __init__(self, context: Any, settings: Any, data: Path, load: Callable[[], Code]) -> None:
        super().__init__(load, self._made, lambda _: logger.exception(self.why_not()))
        self._context = context
        self._settings = settings
        self._data = data
        self.telling: set[asyncio.Task[None]] = set()
        """What is to be kept of turns that ended while the parts were being made."""

    async def begin(self) -> None:
        """AstrBot has made the plugin. At its start this returns at once."""
        self._installs = Installs(
            ROOT / "requirements.txt", self._data / "state" / "requirements.json", plugin_version()
        )
        # A reload. At start-up plugins come first, and providers one by one behind them.
        if providers_are_loaded(self._context):
            await self.now()
        else:
            self.later()

    def astrbot_is_up(self) -> None:
        super().astrbot_is_up()
        if self.here is not None:
            self.here.plugin.astrbot_is_up()

    async def close(self) -> None:
        GroupChatter.use(None)
        MovedChats.use(None)
        await super().close()

    async def _made(self, code: Code, just_started: bool) -> Loaded:
        plugin = code.plugin(
            self._context,
            self._settings,
            self._data,
            self._installs.names,
            self.again,
            self._newest,
        )
        if not plugin.config.enabled:
            logger.info(plugin.texts.say("log.disabled"))
            return Loaded(plugin, None, None)
        parts = Loaded(plugin, mind := code.mind(plugin), code.commands(plugin))
        GroupChatter.use(mind.listens_to)
        MovedChats.use(mind.chat_moved)
        await self._add_tools(code.tools, plugin)
        plugin.open(just_started=just_started)
        self._installs.begin(self.again)
        return parts

    async def _add_tools(
        self, tools: tuple[Callable[..., FunctionTool[Any]], ...], plugin: PluginContext
    ) -> None:
        # AstrBot applies the owner's choice of tools before it calls `initialize`.
        switched_off: list[str] = await sp.global_get("inactivated_llm_tools", [])
        manager = self._context.get_llm_tool_manager()
        for tool in tools:
            made = tool(source=partial(self._plugin_now, plugin))
            made.active = made.name not in switched_off
            manager.remove_func(made.name)
            self._context.add_llm_tools(made)

    async def _plugin_now(self, known: PluginContext) -> PluginContext | None:
        """The one that is open, waited for while it is made anew; after a reload of ours the one
        that was ``known``, which says so."""
        parts = await self.within(LOADING_SECONDS)
        if parts is None:
            return known
        return parts.plugin if parts.mind is not None else None

    async def _newest(self) -> PluginContext | None:
        """The one that is open, for what goes on behind the bot."""
        parts = await self.within(_BEHIND_SECONDS)
        return parts.plugin if parts is not None and parts.mind is not None else None

    async def mind(self, event: AstrMessageEvent) -> DeepMind | None:
        """What hears of a turn, waited for no longer than ``LOADING_SECONDS`` in all its hooks."""
        left, began = event.get_extra(_PATIENCE), monotonic()
        left = LOADING_SECONDS if left is None else left
        parts = await self.within(left)
        event.set_extra(_PATIENCE, max(0.0, left - (monotonic() - began)))
        return parts.mind if parts is not None else None

    async def tell(self, work: Callable[[DeepMind], Awaitable[None]]) -> None:
        """Have something kept of a turn; behind the bot where the parts are still being made."""
        if (parts := self.here) is None:
            task = asyncio.create_task(self._tell_later(work))
            self.telling.add(task)
            task.add_done_callback(self.telling.discard)
        elif parts.mind is not None:
            await work(parts.mind)

    async def _tell_later(self, work: Callable[[DeepMind], Awaitable[None]]) -> None:
        parts = await self.within(_BEHIND_SECONDS)
        if parts is not None and parts.mind is not None:
            await work(parts.mind)

    async def answer(self, event: AstrMessageEvent, command: str) -> str:
        """What a command is answered. Where it finds a closed engine nothing was done, and a newer
        one is asked."""
        closed: Loaded | None = None
        while (parts := await self.within(LOADING_SECONDS)) is not None and parts is not closed:
            if parts.commands is None:
                return self._say("log.disabled")
            reply = await parts.commands.answer(event, command)
            if reply is not None:
                return reply
            closed = parts
        return self.why_not() if closed is None else self._say("outcome.reloaded")

    async def status(self) -> dict[str, Any]:
        """What the status route answers: also if nothing could be loaded."""
        parts = await self.within(LOADING_SECONDS)
        if parts is None:
            return {"version": plugin_version(), "ready": False, "warnings": [self.why_not()]}
        from .host.web_api import status_json

        return await status_json(parts.plugin if parts.mind else None)

    async def recalls(self) -> dict[str, Any]:
        """What the route of the last recalls answers."""
        parts = await self.within(LOADING_SECONDS)
        if parts is None or parts.mind is None:
            return {"recalls": []}
        from .host.web_api import recalls_json

        return recalls_json(parts.plugin)

    def why_not(self) -> str:
        """Why there is nothing here."""
        detail = self.fault
        return self._say("log.load_failed", detail=detail) if detail else self._say("log.loading")

    def _say(self, name: str, **values: str) -> str:
        return Texts(chosen_language(self._settings)).say(name, **values)
