"""The whole set-up in one value: model, bot with the plugin, OneBot client, panel."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import KW_ONLY, dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any, ClassVar

from .bot import AstrBotProcess
from .model import ScriptedModel
from .onebot import OneBot
from .opened import Opened
from .panel import Panel
from .places import TELEGRAM, Person, Place
from .release import install
from .replies import REPLY_SECONDS, Account
from .script import JsonObject, ModelRequest, call
from .settings import BotSettings
from .waiting import TookTooLong, free_port

PATIENCE: JsonObject = {"advanced": {"recall_deadline_ms": 15_000}}
"""A busy machine makes recall late, and late means left out: these runs test what, not when."""
NO_READER: JsonObject = {"reflection_provider": "off"}
"""Where a run is not about learning from turns, the memory makes no calls of its own."""
WORDS_ALONE: JsonObject = {"embedding": "lexical"}
"""Where a run names no embedding service and no `embedding`: no model is loaded in each bot, and no
process beside it holds vectors."""


@dataclass(frozen=True, slots=True)
class Turn:
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
        return self.requests[-1].tool_results


@dataclass(eq=False)
class Rig(Opened):
    """`async with Rig(root) as rig`: a running bot with the plugin in it, and its surroundings."""

    root: Path
    _: KW_ONLY
    python: Path | None = None
    panel_port: int | None = None
    admins: Sequence[int] = ()
    embedding_dimensions: int | None = None
    unique_session: bool = False
    future_tasks: bool = False
    config: JsonObject = field(default_factory=dict)
    """Merged deeply into what these runs set."""
    as_shipped: bool = False
    """Nothing is set at all."""
    reply_seconds: float = REPLY_SECONDS
    clock: Any = None
    """What sets the time of the memory: an ``environment`` for the bot, and a ``timestamp``."""
    telegram: Account | None = None
    before_start: Callable[[Rig], None] | None = None
    """May put something into its folders before anything runs."""
    running: ClassVar[list[Rig]] = []
    """All that are open."""
    dictionary: ClassVar[Path | None] = None
    """``index/dictionary.bin`` for each new bot, which would make it for a second. For runs with
    many of them."""

    def __post_init__(self) -> None:
        self.model = ScriptedModel(dimensions=self.embedding_dimensions or 64)
        self._numbers = itertools.count(1)

    async def _open(self, stack: AsyncExitStack) -> None:
        await stack.enter_async_context(self.model)
        if self.telegram is not None:
            await stack.enter_async_context(self.telegram)
        self.bot = self._new_bot()
        self.bot.prepare()
        if self.dictionary is not None:
            index = self.bot.plugin_data / "index"
            index.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.dictionary, index / "dictionary.bin")
        install(self.bot.plugins)
        if not self.as_shipped:
            config = json.dumps(self._plugin_config())
            self.bot.plugin_config.write_text(config, encoding="utf-8")
        self.onebot = OneBot(self.bot.settings.onebot_port)
        if self.clock is not None:
            self.bot.environment = self.clock.environment
            self.onebot.clock = self.clock.timestamp
        self.panel = Panel(self.bot.panel_url)
        await stack.enter_async_context(self.onebot)
        await stack.enter_async_context(self.panel)
        stack.callback(self.bot.kill9)
        if self.before_start is not None:
            self.before_start(self)
        await self.start()
        self.running.append(self)
        stack.callback(self.running.remove, self)

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Ends everything. AssertionError for a traceback of ours that nobody has looked at."""
        await super().__aexit__(kind, error, trace)
        assert error is not None or not (left := self.bot.own_tracebacks()), left

    @property
    def memory(self) -> Path:
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
        await asyncio.to_thread(self.bot.kill9)
        await self.start()

    async def turn(self, place: Place, person: Person, text: str, *, at: bool = True) -> Turn:
        """Says `text`, waits for the reply; gives it with the model's requests for these words.

        `requests` is empty where the model was not asked, as in commands.
        """
        before = len(self.model.requests)
        within = self.reply_seconds
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
        }
        return await self.use_tool(place, person, "core_memory_remember", arguments | more)

    async def recall(self, place: Place, person: Person, query: str, *, limit: int = 5) -> str:
        arguments = {"query": query, "limit": limit}
        return await self.use_tool(place, person, "core_memory_recall", arguments)

    def _plugin_config(self) -> JsonObject:
        words_alone = {} if self.embedding_dimensions else WORDS_ALONE
        return reduce(merged, (PATIENCE, NO_READER, words_alone, self.config))

    def _new_bot(self) -> AstrBotProcess:
        settings = BotSettings(
            model_url=self.model.base_url,
            panel_port=self.panel_port or free_port(),
            onebot_port=free_port(),
            admins=self.admins,
            embedding_dimensions=self.embedding_dimensions,
            unique_session=self.unique_session,
            future_tasks=self.future_tasks,
            telegram_url=self.telegram.base_url if self.telegram else "",
        )
        return AstrBotProcess(self.root, settings, python=self.python)


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
    """What a person says who wants this stored or forgotten; else empty."""
    tasks = arguments.get("tasks")
    words = [arguments.get("judgment"), *(tasks if isinstance(tasks, list) else [])]
    if set(arguments) == {"pointer"}:
        return "忘掉那一条"
    return "，".join(" ".join(word.split()) for word in words if isinstance(word, str))
