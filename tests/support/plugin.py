"""An event, and what commands and tools ask of a plugin, without a running AstrBot."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from astrbot_plugin_scoped_memory.core.commands.commands import Commands
from astrbot_plugin_scoped_memory.core.config import PanelMap, read_config
from astrbot_plugin_scoped_memory.core.latest import RecentTalk, TypingRate
from astrbot_plugin_scoped_memory.core.plugin import Plugin
from astrbot_plugin_scoped_memory.core.plugin_context import PluginContext
from astrbot_plugin_scoped_memory.core.replies.status_text import notice_text
from astrbot_plugin_scoped_memory.core.turn.events import Events
from astrbot_plugin_scoped_memory.llm_memory import (
    CognitiveService,
    EngineClosed,
    EngineOff,
    EngineStatus,
)
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.engines import ADAPTER, Rig


@dataclass(eq=False)
class FakeEvent:
    """A message, as AstrBot hands it to plugins."""

    unified_msg_origin: str
    message_str: str = ""
    sender: str = "10001"
    name: str = "小明"
    group: str = ""
    admin: bool = False
    platform: str = ADAPTER
    addressed: bool = True
    parts: list[Any] = field(default_factory=list)
    extras: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def in_group(cls, number: int, text: str = "", **more: Any) -> FakeEvent:
        """A message in a group."""
        return cls(f"{ADAPTER}:GroupMessage:{number}", text, group=str(number), **more)

    @classmethod
    def in_private(cls, number: int, text: str = "", **more: Any) -> FakeEvent:
        """A message in a private chat."""
        return cls(f"{ADAPTER}:FriendMessage:{number}", text, sender=str(number), **more)

    @property
    def message_obj(self) -> SimpleNamespace:
        return SimpleNamespace(message_str=self.message_str, raw_message=None)

    @property
    def is_at_or_wake_command(self) -> bool:
        return self.addressed

    def is_private_chat(self) -> bool:
        return "FriendMessage" in self.unified_msg_origin

    def get_messages(self) -> list[Any]:
        return self.parts

    def get_self_id(self) -> str:
        return "999"

    def get_group_id(self) -> str:
        return self.group

    def get_platform_id(self) -> str:
        return self.unified_msg_origin.partition(":")[0]

    def get_platform_name(self) -> str:
        return self.platform

    def get_sender_id(self) -> str:
        return self.sender

    def get_sender_name(self) -> str:
        return self.name

    def is_admin(self) -> bool:
        return self.admin

    def get_extra(self, key: str) -> Any:
        return self.extras.get(key)

    def set_extra(self, key: str, value: Any) -> None:
        self.extras[key] = value


class FakePlugin:
    """Stands for a PluginContext over an engine of the tests."""

    version = "v0.0.0"
    news, tell = PluginContext.news, PluginContext.tell

    def __init__(
        self,
        rig: Rig,
        language: str = "zh-CN",
        persona: str | None = "",
        panel: Any = None,
    ) -> None:
        async def personas(_: object, __: object) -> str | None:
            return persona

        self._rig, self.engine = rig, rig.engine
        self.clock = rig.clock
        self.talk = RecentTalk()
        self.rate = TypingRate()
        self.config = replace(read_config(), language=language)
        self.panel_map = PanelMap(panel)
        self.texts = Texts(language)
        self.histories = {"": "c1"}
        """AstrBot's current chat history of each conversation; that of the others below ``""``."""
        self.talks: dict[str, Any] = {}
        """AstrBot's conversations by the id of their history: each is given to whoever asks."""
        manager = SimpleNamespace(
            get_curr_conversation_id=self._current_history, get_conversation=self._talk
        )
        self.astrbot = SimpleNamespace(
            conversation_manager=manager, get_config=dict, get_platform_inst=lambda _: None
        )
        self.events = Events(self.astrbot, personas, lambda: self.service, self.texts)
        self.tasks: list[asyncio.Future[None]] = []

    async def _current_history(self, umo: str) -> str:
        return self.histories.get(umo, self.histories[""])

    async def _talk(self, umo: str, cid: str) -> Any:
        return self.talks.get(cid)

    @property
    def service(self) -> CognitiveService:
        return self.engine.service

    def spawn(self, work: Coroutine[None, None, None]) -> asyncio.Future[None]:
        self.tasks.append(asyncio.ensure_future(work))
        return self.tasks[-1]

    def warnings(self, status: EngineStatus) -> list[str]:
        return [notice_text(self.texts, notice) for notice in status.notices]

    async def settled(self) -> None:
        """Wait for what runs behind. As in the real one, a closed engine ends it without a word."""
        for ended in await asyncio.gather(*self.tasks, return_exceptions=True):
            if isinstance(ended, Exception) and not isinstance(ended, (EngineClosed, EngineOff)):
                raise ended


def loaded(data: Path, **config: Any) -> PluginContext:
    """The plugin as AstrBot has loaded it, with no provider; its engine is not open yet."""
    astrbot = SimpleNamespace(
        get_config=lambda umo=None: {},
        provider_manager=SimpleNamespace(inst_map={}, provider_insts=[]),
        get_all_embedding_providers=list,
    )
    plugin = Plugin(astrbot, config, data, cast("Any", None))
    plugin.installs = cast("Any", SimpleNamespace(missing={}))
    return PluginContext(plugin)


class Desk:
    """One load of the plugin, and who sends it commands: an admin, unless ``by`` says otherwise.
    What a command has shown is known to the next one. ``sent``: what was told later."""

    def __init__(
        self,
        rig: Rig,
        language: str = "zh-CN",
        *,
        panel: Any = None,
        plugin: FakePlugin | None = None,
        **by: Any,
    ) -> None:
        self.plugin = plugin or FakePlugin(rig, language, panel=panel)
        self.plugin.astrbot.send_message = self._send
        self.say = self.plugin.texts.say
        self.sent: list[str] = []
        self._commands = Commands(cast("Any", self.plugin))
        self._by = {"sender": "9", "name": "站长", "admin": True} | by

    async def _send(self, _: str, chain: Any) -> bool:
        self.sent.append(chain.get_plain_text())
        return True

    async def __call__(self, words: str, number: int = 777, **by: Any) -> str:
        """What is answered to ``/memory <words>`` in a group; ``""`` where the engine is closed."""
        return await self.told(FakeEvent.in_group(number, f"memory {words}", **(self._by | by)))

    async def alone(self, words: str, number: int, *, admin: bool = False) -> str:
        """The same in a private chat."""
        return await self.told(FakeEvent.in_private(number, f"memory {words}", admin=admin))

    async def told(self, event: FakeEvent) -> str:
        """What is answered to a command of any event."""
        name = event.message_str.split()[1]
        answer = await self._commands.answer(cast("Any", event), name)
        await self.plugin.settled()
        return answer or ""


def holding(*plugins: Any) -> Any:
    """A tool's source: these plugins one after the other, the last one from then on."""
    left = list(plugins)

    async def source() -> Any:
        return left.pop(0) if len(left) > 1 else left[0]

    return source


def tool_context(event: FakeEvent) -> Any:
    """What AstrBot hands to a tool."""
    return SimpleNamespace(context=SimpleNamespace(event=event))


async def used(tool: Any, plugin: Any, event: FakeEvent, **given: Any) -> str:
    """What a tool of this plugin answers in the turn of an event."""
    return str(await tool(source=holding(plugin)).call(tool_context(event), **given))
