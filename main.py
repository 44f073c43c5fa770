"""忆域 · Scoped Memory: the plugin as AstrBot sees it. Thin: core/ does the work."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from astrbot.api.event import AstrMessageEvent, MessageEventResult, filter
from astrbot.api.provider import LLMResponse, ProviderRequest
from astrbot.api.star import Context, Star, StarTools
from astrbot.api.web import json_response

from .core import NAME
from .core.commands.command_words import COMMANDS, CommandWords, Row
from .core.plugin import ANEW_SECONDS, LOADING_SECONDS, Code, GroupChatter, Plugin

_FIRST = 10_000
"""Of hooks: one that stops the event keeps it from those behind it."""
_LAST = -10_000


def _load() -> Code:
    from .core.commands.commands import Commands
    from .core.deepmind import DeepMind
    from .core.plugin_context import PluginContext
    from .tools import TOOLS

    return PluginContext, DeepMind, Commands, TOOLS


class ScopedMemoryPlugin(Star):
    """Decorated handlers must live in this file and ``terminate`` in this class."""

    def __init__(self, context: Context, config: dict[str, Any] | None = None) -> None:
        super().__init__(context, config)
        self.plugin = Plugin(context, config, StarTools.get_data_dir(NAME), _load)

    async def initialize(self) -> None:
        """At AstrBot's start it returns at once, and everything else happens afterwards."""
        self.context.register_web_api(f"/{NAME}/status", self._status, ["GET"], "status")
        await self.plugin.begin()

    async def terminate(self) -> None:
        """On reload, disable and SIGINT. SIGTERM and worse do without: all is durable anyway."""
        await self.plugin.close()

    async def _status(self) -> Any:
        return json_response(await self.plugin.status())

    @filter.on_astrbot_loaded()
    async def on_astrbot_loaded(self) -> None:
        """AstrBot 启动完成：可以选定嵌入方式了"""
        self.plugin.up.set()

    @filter.on_waiting_llm_request()
    async def on_waiting_llm_request(self, event: AstrMessageEvent) -> None:
        """下一步就要定这一轮用哪些工具：等插件载入完；问话的向量先算起来"""
        here = await self.plugin.within(LOADING_SECONDS)
        if here is not None and here.mind is not None:
            here.mind.announced(event)

    @filter.on_llm_request(priority=_LAST)
    async def on_llm_request(self, event: AstrMessageEvent, req: ProviderRequest) -> None:
        """在调用模型之前附上相关的记忆；学到的说话习惯放在系统提示词最末尾，所以在别的插件之后"""
        for _ in range(2):  # a closed engine has told nothing, and the next one does
            here = await self.plugin.within(ANEW_SECONDS)
            if here is None or here.mind is None or await here.mind.before_request(event, req):
                return

    @filter.on_agent_done(priority=_FIRST)
    async def on_agent_done(
        self, event: AstrMessageEvent, run_context: Any, response: LLMResponse | None
    ) -> None:
        """回答完了：这一轮排队等着读"""
        self.plugin.tell("finished", event, response)

    @filter.on_llm_tool_respond(priority=_FIRST)
    async def on_llm_tool_respond(
        self, event: AstrMessageEvent, tool: Any, tool_args: Any, tool_result: Any
    ) -> None:
        """工具自己回答了：没有别的钩子会知道这一轮结束了"""
        if tool_result is None:
            self.plugin.tell("finished", event, None)

    @filter.after_message_sent()
    async def on_after_message_sent(self, event: AstrMessageEvent) -> None:
        """回答发出之后：有管理员该知道的，说一次"""
        self.plugin.tell("sent", event)

    @filter.custom_filter(GroupChatter, False, priority=_LAST)
    async def on_group_chatter(self, event: AstrMessageEvent) -> None:
        """群里没有叫机器人的话（只在设置里打开时）；群换了号，记忆域跟过去"""
        self.plugin.tell("finished", event, None)

    @filter.custom_filter(CommandWords, False, priority=_FIRST)
    async def on_command_words(self, event: AstrMessageEvent) -> None:
        """写法不一样的记忆指令，先改成认得的写法；它自己什么也不回答"""

    @filter.command_group("memory", alias={"记忆"})
    def memory(self) -> None:
        """长期记忆：状态、记忆域、列表、搜索、记住、忘记、改写、移动、撤销、暂停、继续、导出、导入"""


def _register(command: Row) -> None:
    """Have AstrBot call the plugin for a command, whose answer ends the event: the model is not
    asked. AstrBot finds a handler by its module and name, and shows the docstring in its panel."""

    async def handle(
        star: ScopedMemoryPlugin, event: AstrMessageEvent
    ) -> AsyncGenerator[MessageEventResult]:
        yield event.plain_result(await star.plugin.answer(event, command.name))
        event.stop_event()

    handle.__name__, handle.__doc__ = f"memory_{command.name}", command.doc
    ScopedMemoryPlugin.memory.command(command.name, alias={*command.aliases.split()})(handle)


for row in COMMANDS:
    _register(row)
CommandWords.group = ScopedMemoryPlugin.memory.parent_group
