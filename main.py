"""忆域 · Scoped Memory: the plugin as AstrBot sees it. Thin: core/ does the work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from astrbot.api import logger, sp
from astrbot.api.event import AstrMessageEvent, MessageEventResult, filter
from astrbot.api.provider import LLMResponse, ProviderRequest
from astrbot.api.star import Context, Star, StarTools
from astrbot.api.web import json_response

from .core.commands.command_table import COMMANDS, Row
from .core.commands.command_words import CommandWords
from .core.host.late_start import LateStart, providers_are_loaded
from .core.host.package_installer import Installs
from .core.plugin_names import NAME, RECALLS_ROUTE, ROOT, STATUS_ROUTE, plugin_version
from .core.turn.group_events import GroupChatter, MovedChats
from .llm_memory.texts import Texts, chosen_language

if TYPE_CHECKING:
    from .core.deepmind import DeepMind
    from .core.plugin_context import PluginContext
    from .core.plugin_parts import Parts
    from .tools.base import MemoryTool

_FIRST = 10_000
"""Of hooks: one that stops the event keeps it from those behind it."""
_LAST = -10_000
_LOADING_SECONDS = 10.0
"""How long a speaker waits for a plugin that still loads. Loading takes a second
or two after AstrBot's start, during which the bot would otherwise not have been there at all."""
_PATIENCE = "scoped_memory_patience"
"""The extra of an event that holds how many of these seconds are left."""
_BEHIND_SECONDS = 600.0
"""How long work that holds up no message waits for the parts."""


class Code(NamedTuple):
    """What is imported late."""

    parts: type[Parts]
    tools: tuple[type[MemoryTool], ...]


def _load() -> Code:
    from .core.plugin_parts import Parts
    from .tools import TOOLS

    return Code(Parts, TOOLS)


class ScopedMemoryPlugin(Star):
    """Decorated handlers must live in this file and ``terminate`` in this class."""

    def __init__(self, context: Context, config: dict[str, Any] | None = None) -> None:
        super().__init__(context, config)
        self.settings = config
        self._data = StarTools.get_data_dir(NAME)
        self.telling: set[asyncio.Task[None]] = set()
        self.parts: LateStart[Code, Parts] = LateStart(
            _load, self._make, lambda _: logger.exception(self._why_not())
        )

    async def initialize(self) -> None:
        """At AstrBot's start it returns at once, and everything else happens afterwards."""
        self._installs = Installs(
            ROOT / "requirements.txt", self._data / "state" / "requirements.json", plugin_version()
        )
        self.context.register_web_api(STATUS_ROUTE, self._status, ["GET"], "status")
        self.context.register_web_api(RECALLS_ROUTE, self._recalls, ["GET"], "recalls")
        # A reload. At start-up plugins come first, and providers one by one behind them.
        if providers_are_loaded(self.context):
            await self.parts.now()
        else:
            self.parts.later()

    async def _make(self, code: Code, just_started: bool) -> Parts:
        parts = code.parts(
            self.context,
            self.settings,
            self._data,
            self._installs.names,
            self.parts.again,
            self._newest,
        )
        if parts.mind is not None:
            GroupChatter.use(parts.mind.listens_to)
            MovedChats.use(parts.mind.chat_moved)
            await self._add_tools(code.tools, parts)
        parts.open(just_started=just_started)
        if parts.plugin is not None:
            self._installs.begin(self.parts.again)
        return parts

    async def _add_tools(self, tools: tuple[type[MemoryTool], ...], parts: Parts) -> None:
        # AstrBot applies the owner's choice of tools before it calls `initialize`.
        switched_off: list[str] = await sp.global_get("inactivated_llm_tools", [])
        manager = self.context.get_llm_tool_manager()
        for tool in tools:
            made = tool(source=partial(self._plugin_now, parts))
            made.active = made.name not in switched_off
            manager.remove_func(made.name)
            self.context.add_llm_tools(made)

    async def _plugin_now(self, known: Parts) -> PluginContext | None:
        """The one that is open, waited for while it is made anew; after a reload of ours the one
        that was ``known``, which says so."""
        return (await self.parts.within(_LOADING_SECONDS) or known).plugin

    async def _newest(self) -> PluginContext | None:
        """The one that is open, for what goes on behind the bot."""
        parts = await self.parts.within(_BEHIND_SECONDS)
        return parts.plugin if parts is not None else None

    async def _mind(self, event: AstrMessageEvent) -> DeepMind | None:
        """What hears of a turn, waited for no longer than ``_LOADING_SECONDS`` in all its hooks."""
        left, began = event.get_extra(_PATIENCE), monotonic()
        left = _LOADING_SECONDS if left is None else left
        parts = await self.parts.within(left)
        event.set_extra(_PATIENCE, max(0.0, left - (monotonic() - began)))
        return parts.mind if parts is not None else None

    async def _tell(self, work: Callable[[DeepMind], Awaitable[None]]) -> None:
        """Have something kept of a turn; behind the bot where the parts are still being made."""
        if (parts := self.parts.here) is None:
            task = asyncio.create_task(self._tell_later(work))
            self.telling.add(task)
            task.add_done_callback(self.telling.discard)
        elif parts.mind is not None:
            await work(parts.mind)

    async def _tell_later(self, work: Callable[[DeepMind], Awaitable[None]]) -> None:
        parts = await self.parts.within(_BEHIND_SECONDS)
        if parts is not None and parts.mind is not None:
            await work(parts.mind)

    async def terminate(self) -> None:
        """On reload, disable and SIGINT. SIGTERM and worse do without: all is durable anyway."""
        GroupChatter.use(None)
        MovedChats.use(None)
        await self.parts.close()

    async def _status(self) -> Any:
        """What the route answers: also if nothing could be loaded."""
        parts = await self.parts.within(_LOADING_SECONDS)
        if parts is None:
            warnings = [self._why_not()]
            blank = {"version": plugin_version(), "ready": False, "warnings": warnings}
            return json_response(blank)
        return json_response(await parts.status())

    async def _recalls(self) -> Any:
        parts = await self.parts.within(_LOADING_SECONDS)
        return json_response({"recalls": []} if parts is None else parts.recalls())

    def _why_not(self) -> str:
        fault = self.parts.fault
        return self._say("log.load_failed", detail=fault) if fault else self._say("log.loading")

    def _say(self, name: str, **values: str) -> str:
        return Texts(chosen_language(self.settings)).say(name, **values)

    @filter.on_astrbot_loaded()
    async def on_astrbot_loaded(self) -> None:
        """AstrBot 启动完成：可以选定嵌入方式了"""
        self.parts.astrbot_is_up()
        if (parts := self.parts.here) is not None:
            parts.astrbot_is_up()

    @filter.on_waiting_llm_request()
    async def on_waiting_llm_request(self, event: AstrMessageEvent) -> None:
        """下一步就要定这一轮用哪些工具：等插件载入完；想起要用的，先算起来"""
        if (mind := await self._mind(event)) is not None:
            await mind.announced(event)

    @filter.on_llm_request(priority=_LAST)
    async def on_llm_request(self, event: AstrMessageEvent, req: ProviderRequest) -> None:
        """在调用模型之前附上相关的记忆；学到的说话习惯放在系统提示词最末尾，所以在别的插件之后"""
        if (mind := await self._mind(event)) is not None:
            await mind.before_request(event, req)

    @filter.on_agent_done(priority=_FIRST)
    async def on_agent_done(
        self, event: AstrMessageEvent, run_context: Any, response: LLMResponse | None
    ) -> None:
        """回答完了：这一轮排队等着读"""
        await self._tell(lambda mind: mind.finished(event, response))

    @filter.on_llm_tool_respond(priority=_FIRST)
    async def on_llm_tool_respond(
        self, event: AstrMessageEvent, tool: Any, tool_args: Any, tool_result: Any
    ) -> None:
        """工具自己回答了：没有别的钩子会知道这一轮结束了"""
        if tool_result is None:
            await self._tell(lambda mind: mind.finished(event, None))

    @filter.after_message_sent()
    async def on_after_message_sent(self, event: AstrMessageEvent) -> None:
        """回答发出之后：有管理员该知道的，说一次"""
        if (parts := self.parts.here) is not None and parts.mind is not None:
            await parts.mind.sent(event)

    @filter.custom_filter(GroupChatter, False, priority=_LAST)
    async def on_group_chatter(self, event: AstrMessageEvent) -> None:
        """群里没有叫机器人的话（只在设置里打开时）"""
        await self._tell(lambda mind: mind.overheard(event))

    @filter.custom_filter(MovedChats, False, priority=_FIRST)
    async def on_moved_chat(self, event: AstrMessageEvent) -> None:
        """群换了号（Telegram 群升级成超级群）：记忆域跟过去；它自己什么也不回答"""

    @filter.custom_filter(CommandWords, False, priority=_FIRST)
    async def on_command_words(self, event: AstrMessageEvent) -> None:
        """写法不一样的记忆指令，先改成认得的写法；它自己什么也不回答"""

    @filter.command_group("memory", alias={"记忆"})
    def memory(self) -> None:
        """长期记忆：状态、记忆域、列表、搜索、记住、忘记、改写、移动、撤销、暂停、继续、导出、导入"""

    async def reply(self, event: AstrMessageEvent, name: str) -> AsyncGenerator[MessageEventResult]:
        """Answer a command; the model is not asked."""
        reply: str | None = None
        closed: Parts | None = None
        while reply is None and (parts := await self.parts.within(_LOADING_SECONDS)) is not None:
            if parts is closed:
                break
            if parts.commands is None:
                reply = parts.off
            else:
                reply = await parts.commands.answer(event, name)
                closed = parts  # if there is no reply, nothing was done; newer ones may be there
        if reply is None:
            reply = self._why_not() if closed is None else self._say("outcome.reloaded")
        yield event.plain_result(reply)
        event.stop_event()


def _register(command: Row) -> None:
    """Have AstrBot call the plugin for a command. AstrBot finds a handler by its module and name,
    and shows the docstring in its panel."""

    async def handle(
        plugin: ScopedMemoryPlugin, event: AstrMessageEvent
    ) -> AsyncGenerator[MessageEventResult]:
        async for result in plugin.reply(event, command.name):
            yield result

    handle.__name__, handle.__doc__ = f"memory_{command.name}", command.doc
    ScopedMemoryPlugin.memory.command(command.name, alias={*command.aliases.split()})(handle)


for row in COMMANDS:
    _register(row)
CommandWords.use(ScopedMemoryPlugin.memory.parent_group)
