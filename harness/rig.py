"""The whole set-up in one value: model, bot with the plugin, OneBot client, panel."""

import asyncio
import itertools
import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import ClassVar

from .bot import AstrBotProcess
from .clock import MovedClock
from .model import ScriptedModel
from .onebot import REPLY_SECONDS, OneBot
from .panel import Panel
from .places import TELEGRAM, Person, Place
from .release import CHECKOUT, install
from .script import JsonObject, ModelRequest, ToolCall, call
from .settings import BotSettings
from .telegram import Telegram
from .waiting import TookTooLong, free_port, until

PATIENCE: JsonObject = {"advanced": {"recall_deadline_ms": 15_000}}
"""A busy machine makes recall late, and late means left out: these runs test what, not when."""
NO_READER: JsonObject = {"reflection_provider": "off"}
"""Where a run is not about learning from turns, the memory makes no calls of its own."""
WORDS_ALONE: JsonObject = {"embedding": "lexical"}
"""Where a run names no embedding service and no `embedding`: no model is loaded in each bot, and no
process beside it holds vectors."""


_NEVER = "2099-01-01T08:00:00+08:00"
_WOKEN = "You are now responding to a scheduled task"
"""What AstrBot asks an agent that a timer has woken."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message and what came of it."""

    reply: str
    requests: list[ModelRequest]

    @property
    def first(self) -> ModelRequest:
        """The request of the first round: what the model knew before any tool."""
        return self.requests[0]

    @property
    def injected(self) -> str:
        """What was put behind the user's words in the first round."""
        return "\n".join(self.first.injected)

    @property
    def tool_results(self) -> list[str]:
        """What the tools answered, in order."""
        return self.requests[-1].tool_results


class Rig:
    """`async with Rig(root) as rig`: a running bot with the plugin in it, and its surroundings.

    `config` is merged deeply into what these runs set; with `as_shipped` nothing is set at all.
    With `moved_clock`, `rig.clock` sets the time of the memory. `before_start` may put something
    into its folders before anything runs.
    """

    dictionary: ClassVar[Path | None] = None
    """``index/dictionary.bin`` for each new bot, which would make it for a second. For runs with
    many of them."""

    def __init__(
        self,
        root: Path,
        *,
        python: Path | None = None,
        source: Path = CHECKOUT,
        panel_port: int | None = None,
        admins: Sequence[int] = (),
        embedding_dimensions: int | None = None,
        unique_session: bool = False,
        future_tasks: bool = False,
        config: JsonObject | None = None,
        as_shipped: bool = False,
        reply_seconds: float = REPLY_SECONDS,
        moved_clock: bool = False,
        telegram: Telegram | None = None,
        before_start: "Callable[[Rig], None] | None" = None,
    ) -> None:
        self.root = root
        self.source = source
        self.model = ScriptedModel(dimensions=embedding_dimensions or 64)
        self._python = python
        self._panel_port = panel_port
        self._admins = admins
        self._embedding_dimensions = embedding_dimensions
        self._unique_session = unique_session
        self._future_tasks = future_tasks
        self._config = config
        self._as_shipped = as_shipped
        self._reply_seconds = reply_seconds
        self._moved_clock = moved_clock
        self.telegram = telegram
        self._before_start = before_start
        self._stack = AsyncExitStack()
        self._numbers = itertools.count(1)

    async def __aenter__(self) -> "Rig":
        """Sets everything up and starts it; the plugin is active when this returns."""
        try:
            await self._stack.enter_async_context(self.model)
            if self.telegram is not None:
                await self._stack.enter_async_context(self.telegram)
            self.bot = self._new_bot()
            self.bot.prepare()
            if self.dictionary is not None:
                index = self.bot.plugin_data / "index"
                index.mkdir(parents=True, exist_ok=True)
                shutil.copy(self.dictionary, index / "dictionary.bin")
            install(self.bot.plugins, source=self.source)
            if not self._as_shipped:
                config = json.dumps(self._plugin_config())
                self.bot.plugin_config.write_text(config, encoding="utf-8")
            self.onebot = OneBot(self.bot.settings.onebot_port)
            if self._moved_clock:
                self.clock = MovedClock(self.root / "ahead")
                self.bot.environment = self.clock.environment
                self.onebot.clock = self.clock.timestamp
            self.panel = Panel(self.bot.panel_url)
            await self._stack.enter_async_context(self.onebot)
            await self._stack.enter_async_context(self.panel)
            self._stack.callback(self.bot.kill9)
            if self._before_start is not None:
                self._before_start(self)
            await self.start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends everything."""
        await self._stack.aclose()

    @property
    def memory(self) -> Path:
        """The vault."""
        return self.bot.plugin_data / "memory"

    async def start(self) -> None:
        """Starts the bot; OneBot is connected and the plugin active when this returns."""
        await self.bot.start()
        try:
            await self.onebot.connected()
            await self.panel.activated()
        except TookTooLong as error:
            error.add_note("AstrBot's log ends with:\n" + self.bot.logs()[-4000:])
            raise

    async def crash(self) -> None:
        """kill -9, then a new start."""
        await asyncio.to_thread(self.bot.kill9)
        await self.start()

    async def restart(self) -> None:
        """SIGTERM, then a new start. BotDied if the bot did not end as told."""
        await asyncio.to_thread(self.bot.sigterm)
        await self.start()

    async def turn(self, place: Place, person: Person, text: str, *, at: bool = True) -> Turn:
        """Says `text`, waits for the reply; gives it with the model's requests for these words.

        `requests` is empty where the model was not asked, as in commands.
        """
        before = len(self.model.requests)
        within = self._reply_seconds
        there = self.telegram if place.adapter == TELEGRAM and self.telegram else self.onebot
        reply = await there.ask(place, person, text, at=at, within=within)
        mine = [r for r in self.model.requests[before:] if text.strip() in r.user_text]
        return Turn(reply, mine)

    async def use_tool(
        self, place: Place, person: Person, name: str, arguments: Mapping[str, object] | str
    ) -> str:
        """Has the model call this tool in a turn of its own, in which the person says what it is
        to store; gives the tool's result."""
        said = "" if isinstance(arguments, str) else _said(arguments)
        words = f"请用一次工具（编号 {next(self._numbers)}）{said}"
        self.model.on(words, call(name, arguments), then="用过了。")
        turn = await self.turn(place, person, words)
        return turn.tool_results[-1]

    async def remember(self, place: Place, person: Person, judgment: str, **more: object) -> str:
        """`core_memory_remember` with plausible arguments, of which `more` replaces some."""
        arguments: dict[str, object] = {
            "judgment": judgment,
            "reasoning": "对方亲口说的，要求记住。",
            "tags": ["生活"],
            "strength": 70,
            "memory_type": "knowledge",
        }
        return await self.use_tool(place, person, "core_memory_remember", arguments | more)

    async def recall(self, place: Place, person: Person, query: str, *, limit: int = 5) -> str:
        """What `core_memory_recall` finds in this conversation."""
        arguments = {"query": query, "limit": limit}
        return await self.use_tool(place, person, "core_memory_recall", arguments)

    async def set_timer(self, place: Place, person: Person, note: str) -> str:
        """Has the model set a timer for this person, for a day that never comes; gives its id.

        Needs `future_tasks`.
        """
        arguments = {"action": "create", "note": note, "run_once": True, "run_at": _NEVER}
        result = await self.use_tool(place, person, "future_task", arguments)
        found = re.search(r"future task (\S+) ", result)
        assert found is not None, result
        return found[1]

    async def goes_off(self, timer: str, *calls: ToolCall) -> list[str]:
        """The timer goes off now, and the agent that AstrBot wakes makes these calls, a round each;
        gives their results."""
        done = f"做完了（编号 {next(self._numbers)}）"
        self.model.on(_WOKEN, *calls, then=done)
        before = len(self.model.asked(_WOKEN))
        await self.panel.call("POST", f"/api/v1/cron/jobs/{timer}/run")

        async def probe() -> list[str] | None:
            asked = self.model.asked(_WOKEN)[before:]
            return asked[-1].tool_results if len(asked) > len(calls) else None

        return await until(probe, within=self._reply_seconds, what="the end of a timer's run")

    def _plugin_config(self) -> JsonObject:
        config: JsonObject = {}
        defaults = [PATIENCE, NO_READER, *([] if self._embedding_dimensions else [WORDS_ALONE])]
        for settings in (*defaults, self._config or {}):
            config = merged(config, settings)
        return config

    def _new_bot(self) -> AstrBotProcess:
        settings = BotSettings(
            model_url=self.model.base_url,
            panel_port=self._panel_port or free_port(),
            onebot_port=free_port(),
            admins=self._admins,
            embedding_dimensions=self._embedding_dimensions,
            unique_session=self._unique_session,
            future_tasks=self._future_tasks,
            telegram_url=self.telegram.base_url if self.telegram else "",
        )
        return AstrBotProcess(self.root, settings, python=self._python)


def merged(settings: JsonObject, changes: JsonObject) -> JsonObject:
    """The settings with these changes, also inside groups of settings."""
    result = dict(settings)
    for key, value in changes.items():
        held = result.get(key)
        if isinstance(held, dict) and isinstance(value, dict):
            value = merged(held, value)
        result[key] = value
    return result


def _said(arguments: Mapping[str, object]) -> str:
    """What a person says who wants this stored; empty for tools that store nothing."""
    tasks = arguments.get("tasks")
    words = [arguments.get("judgment"), *(tasks if isinstance(tasks, list) else [])]
    return "，".join(" ".join(word.split()) for word in words if isinstance(word, str))
