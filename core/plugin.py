"""The plugin behind AstrBot's hooks: loaded late, opened, made anew, closed.

AstrBot imports plugins before it opens its panel and connects to any platform. Several hundred
modules there cost every start half a second, on a small server several: so they are imported after
AstrBot's own start, off its event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from astrbot.api import logger, sp
from astrbot.api.event import AstrMessageEvent
from astrbot.api.event.filter import CustomFilter
from astrbot.core.config import AstrBotConfig

from ..llm_memory.texts import Texts, chosen_language
from . import ROOT, plugin_version
from .host.package_installer import Installs

if TYPE_CHECKING:
    from astrbot.api import FunctionTool

    from .commands.commands import Commands
    from .deepmind import DeepMind
    from .plugin_context import PluginContext

LOADING_SECONDS = 10.0
"""How long a speaker waits for a plugin that still loads, which takes a second or two."""
ANEW_SECONDS = 2.0
"""How long a turn that has begun waits for parts that are made anew, which takes less."""
_BEHIND_SECONDS = 600.0
"""How long work that holds up no message waits for the parts."""
_UP_SECONDS = 120.0
"""Longer than AstrBot takes to start. One that is up, and has no provider, tells nothing."""

TELLING: Final[set[asyncio.Task[None]]] = set()
"""What is being kept of turns: it may outlive the load of the plugin that heard them."""

type Step = Callable[[], Awaitable[Any]]
type Tools = Sequence[Callable[..., FunctionTool[Any]]]
type Code = tuple[type[PluginContext], type[DeepMind], type[Commands], Tools]
"""What is imported late."""


class Plugin:
    """All that AstrBot's hooks ask. Imports once and makes one load at a time.

    Attributes:
        up: Set once AstrBot has started.
        here: What was made; None until then, while it is made anew, and after ``close``.
        fault: Why nothing was made; empty while that may still happen.
    """

    def __init__(self, context: Any, settings: Any, data: Path, load: Callable[[], Code]) -> None:
        """``load`` imports; it is called in a thread."""
        self.context = context
        self.settings = settings
        self.data = data
        self._load = load
        self.up = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self.here: PluginContext | None = None
        self.fault = ""

    async def begin(self) -> None:
        """AstrBot has made the plugin. At its start this returns at once, and what fails is told.
        In a reload it raises whatever the import raises: AstrBot shows it beside the name."""
        marker = self.data / "state" / f"requirements-{plugin_version()}"
        self.installs = Installs(ROOT / "requirements.txt", marker)
        # At start-up plugins come first, and providers one by one behind them.
        if self.context.provider_manager.inst_map:
            self._task = asyncio.create_task(self._make())
            await asyncio.shield(self._task)
            self.up.set()
        else:
            asyncio.get_running_loop().call_later(_UP_SECONDS, self.up.set)
            self._task = asyncio.create_task(self._make_anew(self.up.wait))

    async def within(self, seconds: float) -> PluginContext | None:
        """The parts, waited for so long. That they are asked for means that AstrBot is up."""
        self.up.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.here is None and self._task is not None and not self._task.done():
                    await asyncio.wait([self._task])  # behind which the next may have begun
        return self.here

    async def again(self, between: Step | None = None) -> None:
        """Close what was made and make it anew, after whatever is being made already; ``between``
        is done while there is nothing. What fails is told, and it is made all the same. Nothing
        happens after ``close``."""
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])  # two at a time would leave parts unclosed
        if self._closed:
            return
        old, self.here = self.here, None
        steps = [old.close if old else None, between]
        self._task = asyncio.create_task(self._make_anew(*filter(None, steps)))
        await asyncio.wait([self._task])

    async def close(self) -> None:
        """Close what was made, and make nothing any more. Idempotent. What is under way is waited
        for: AstrBot forgets the plugin's modules next, and what were imported after that would be
        taken for the new ones."""
        GroupChatter.use(None)
        self._closed = True
        self.up.set()
        if self._task is not None:
            await asyncio.wait([self._task])
        here, self.here = self.here, None
        if here is not None:
            await here.close()

    async def _make_anew(self, *before: Step) -> None:
        """Whatever one step raises, the next one is taken."""
        for step in (*before, self._make):
            try:
                await step()
            except Exception as error:  # noqa: BLE001  (the last place that can tell)
                self.fault = f"{type(error).__name__}: {error}"
                logger.exception(self.why_not())

    async def _make(self) -> None:
        """Nothing, once it is closed."""
        if not self._closed:
            code = await asyncio.to_thread(self._load)
            if not self._closed:  # while it was imported
                self.here, self.fault = await self._opened(code), ""

    async def _opened(self, code: Code) -> PluginContext:
        context, mind, commands, tools = code
        plugin = context(self)
        if not plugin.config.enabled:
            logger.info(plugin.texts.say("log.disabled"))
            return plugin
        plugin.mind, plugin.commands = mind(plugin), commands(plugin)
        GroupChatter.use(plugin.mind)
        # AstrBot applies the owner's choice of tools before it calls `initialize`.
        switched_off: list[str] = await sp.global_get("inactivated_llm_tools", [])
        for tool in tools:
            made = tool(source=partial(self._for_tools, plugin))
            made.active = made.name not in switched_off
            self.context.get_llm_tool_manager().remove_func(made.name)
            self.context.add_llm_tools(made)
        plugin.open()
        self.installs.begin(self.again)
        return plugin

    async def _for_tools(self, known: PluginContext) -> PluginContext | None:
        """The parts that are open, waited for while they are made anew; None for switched off, and
        after a reload of ours those that were ``known``, which say so."""
        parts = await self.within(LOADING_SECONDS) or known
        return parts if parts.mind is not None else None

    def tell(self, hook: str, *given: Any) -> None:
        """Have ``hook`` of the mind keep something of a turn, behind the bot: a person waits for
        the answer."""
        task = asyncio.create_task(self._told(hook, given))
        TELLING.add(task)
        task.add_done_callback(TELLING.discard)

    async def _told(self, hook: str, given: tuple[Any, ...]) -> None:
        """No turn is spoilt by what is kept of it."""
        try:
            for _ in range(2):  # a closed engine has kept nothing, and a newer one is told
                parts = await self.within(_BEHIND_SECONDS)
                if parts is None or parts.mind is None or await getattr(parts.mind, hook)(*given):
                    return
        except Exception:  # noqa: BLE001  (whatever it is, the person gets the answer)
            logger.exception(self._say("log.observe_failed"))

    async def answer(self, event: AstrMessageEvent, command: str) -> str:
        """What a command is answered. Where it finds a closed engine nothing was done."""
        parts = await self.within(LOADING_SECONDS)
        if parts is None:
            return self.why_not()
        if parts.commands is None:
            return self._say("log.disabled")
        return await parts.commands.answer(event, command) or self._say("outcome.reloaded")

    async def status(self) -> dict[str, Any]:
        """What the status route answers: also if nothing could be loaded."""
        parts = await self.within(LOADING_SECONDS)
        if parts is None:
            return {"version": plugin_version(), "ready": False, "warnings": [self.why_not()]}
        return await parts.status()

    def why_not(self) -> str:
        """Why there is nothing here."""
        detail = self.fault
        return self._say("log.load_failed", detail=detail) if detail else self._say("log.loading")

    def _say(self, name: str, **values: str) -> str:
        return Texts(chosen_language(self.settings)).say(name, **values)


class GroupChatter(CustomFilter):
    """Lets AstrBot hand what the bot listens to to the plugin; that a chat has moved it shows to
    filters alone. It makes the filter before there is a plugin: so the plugin that lives tells the
    class who hears, and takes it back when it ends. Moves are held until there is one."""

    _mind: ClassVar[DeepMind | None] = None
    _moved: ClassVar[deque[tuple[str, str]]] = deque(maxlen=500)

    def filter(self, event: AstrMessageEvent, cfg: AstrBotConfig) -> bool:
        """Whatever is raised here, AstrBot sends into the group: it goes into the log."""
        try:
            self._moved.extend(moved_chats(event))
            while self._moved and self._mind is not None:
                self._mind.chat_moved(*self._moved.popleft())
            return self._mind is not None and self._mind.listens_to(event)
        except Exception:  # noqa: BLE001  (AstrBot would send it into the group)
            logger.exception("a group's message was not heard; if the group got another id, rebind")
            return False

    @classmethod
    def use(cls, mind: DeepMind | None) -> None:
        """From now on; None for nobody."""
        cls._mind = mind


def moved_chats(event: AstrMessageEvent) -> list[tuple[str, str]]:
    """The former and the new key of a group where the platform says that it goes on under another
    id, as Telegram does of one that becomes a supergroup."""
    message = getattr(getattr(event.message_obj, "raw_message", None), "message", None)
    here = getattr(getattr(message, "chat", None), "id", None)
    to, before = (getattr(message, f"migrate_{way}_chat_id", None) for way in ("to", "from"))
    group = f"{event.get_platform_id()}:GroupMessage:"
    return [
        (f"{group}{old}", f"{group}{new}")
        for old, new in ((here, to), (before, here))
        if isinstance(old, int) and isinstance(new, int) and old != new
    ]
