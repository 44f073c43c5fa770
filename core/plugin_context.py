"""The plugin's composition root: config, paths, texts and the engine, opened and closed here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from astrbot.api import logger
from astrbot.api.event import MessageChain
from pydantic_core import to_jsonable_python

from ..llm_memory import (
    Actor,
    CognitiveService,
    EngineClosed,
    EngineOff,
    EnginePaths,
    EngineStatus,
    Notice,
    build_engine,
)
from ..llm_memory import log as engine_log
from ..llm_memory.texts import Said, Texts
from ..llm_memory.transfer.rules.carried_settings import carried
from . import plugin_version
from .background_initializer import own
from .config import PanelMap, read_config
from .host.bot import AstrBotChat, AstrBotReranker, PersonaReader, bot_accounts, clock_of, is_admin
from .latest import RecentTalk, TypingRate
from .replies.status_text import notice_text
from .services.sleep_schedule import SleepSchedule
from .turn.events import Events

if TYPE_CHECKING:
    from .commands.commands import Commands
    from .deepmind import DeepMind
    from .plugin import Plugin

_RECALLS = 20


class PluginContext:
    """Everything that one load of the plugin holds. Nothing here raises because of a config value.
    ``mind`` and ``commands`` are None where the owner has switched the plugin off."""

    mind: DeepMind | None = None
    commands: Commands | None = None

    def __init__(self, plugin: Plugin) -> None:
        context, raw_config = plugin.context, plugin.settings
        self.astrbot, self.up, self.reopen = context, plugin.up, plugin.again
        self._installs = plugin.installs
        self.config = config = read_config(raw_config)
        self.panel_map = PanelMap(raw_config)
        self.texts = Texts(config.language)
        self.version = plugin_version()
        self.paths = EnginePaths.under(plugin.data, config.memory_root)
        self.clock = clock_of(context)
        self.rate = TypingRate()
        self.talk = RecentTalk()
        personas = PersonaReader(context, self.texts)
        self.events = Events(context, personas, lambda: self.service, self.texts)
        reader, ranker = config.reflection_provider, config.rerank_provider
        self._reranker = AstrBotReranker(context, ranker) if ranker else None
        self.engine = build_engine(
            self.paths,
            config.engine,
            on_notice=self._say,
            clock=self.clock,
            version=self.version,
            reranker=self._reranker,
            chat=AstrBotChat(context, reader) if config.engine.loop.reads_turns else None,
            accounts=partial(bot_accounts, context),
            is_admin=partial(is_admin, context),
            persona_prompt=personas.prompt,
            carried_settings=lambda: carried(self.panel_map.all()),
        )
        self.schedule = SleepSchedule(self.engine, config.engine.loop.sleep_at, self.clock)
        self._fault = ""
        """Why what goes on behind the bot has ended before its time."""
        self._tasks: set[asyncio.Future[None]] = set()
        self._logs: int | None = None

    @property
    def service(self) -> CognitiveService:
        """The engine's entry: the one that decides who sees what."""
        return self.engine.service

    def open(self) -> None:
        """Start the owner task. Returns at once."""
        # A sink of the engine's own loguru core, so AstrBot's sinks never see those records raw.
        self._logs = engine_log.logger.add(_forward, level="DEBUG", format="{message}", catch=True)
        self.spawn(own(self), "owner")

    def unusable(self) -> list[str]:
        """Settings that are not usable and packages that are not there, as texts."""
        say, named = self.texts.say, [*self.config.warnings]
        if self._reranker and self._reranker.provider is None:
            name, value = "advanced.rerank_provider", self._reranker.label
            named.append(Said("log.config_value", name=name, value=value, used="-"))
        code = {True: "log.package_installing", False: "log.package_missing"}
        return [
            *(one.text(self.texts.spoken) for one in named),
            *(say(code[coming], name=name) for name, coming in self._installs.missing.items()),
        ]

    def spawn(self, work: Coroutine[Any, Any, None], name: str = "") -> asyncio.Future[None]:
        """Run something behind the turn. What still runs at ``close`` is cancelled; what fails is
        in the log, and what has a ``name`` and fails is a warning, for it should go on."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(partial(self._ended, name))
        return task

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        # Of a reload nothing is said, and of an engine that could not be opened a notice.
        if error is not None and not isinstance(error, (EngineClosed, EngineOff)):
            self._fault = self.texts.say("log.owner_failed") if name else self._fault
            said = self.texts.say("log.behind_failed")
            logger.error(f"{said} ({name})", exc_info=error)

    def warnings(self, status: EngineStatus) -> list[str]:
        """All that the owner should look at, as texts."""
        notices = (notice_text(self.texts, notice) for notice in status.notices)
        return [*self.unusable(), *filter(None, [self._fault]), *notices]

    async def status(self) -> dict[str, Any]:
        """What the panel's route answers, for the owner alone."""
        status = await self.engine.status()
        return {
            **to_jsonable_python(status, exclude={"by_scope", "left", "notices"}),
            "version": self.version,
            "memories": {"total": status.total, "by_scope": dict(status.by_scope)},
            # All that waits to be worked off: vectors (``backlog``) and turns.
            "queue": status.backlog + status.loop.queue.waiting,
            "left_behind": [
                {
                    "source": one.source.name,
                    "target": one.target.name,
                    "memories": one.memories,
                    "turns": one.turns,
                }
                for one in status.left
            ],
            "warnings": self.warnings(status),
            # The newest first: no word of a memory or a question.
            "recalls": [
                {"conversation": one.conversation, "at": one.at.isoformat()}
                | to_jsonable_python(one.trace)
                for one in self.engine.parts.explanations.log[: -_RECALLS - 1 : -1]
            ],
        }

    async def news(self, actor: Actor, umo: str = "") -> str:
        """What an admin is told once in chat: sent to ``umo``, without which it is to be said
        beside an answer."""
        news, reached = await self.service.claim_news(actor), True
        text = "\n".join(notice_text(self.texts, notice) for notice in news)
        if text and umo:
            reached = await self.tell(umo, self.texts.say("status.warning", text=text))
        await self.service.settle_news(news, said=reached)
        return text

    async def tell(self, umo: str, text: str) -> bool:
        """Say something in a conversation that nobody there has asked for. False where it did not
        arrive."""
        try:
            return bool(await self.astrbot.send_message(umo, MessageChain().message(text)))
        except Exception:  # noqa: BLE001  (whatever the platform raises, the work goes on)
            logger.exception(self.texts.say("log.warning_unsent"))
            return False

    def _say(self, notice: Notice) -> None:
        write = logger.error if notice.error else logger.warning
        write(notice_text(self.texts, notice))

    async def close(self) -> None:
        """Stop the owner task, wait for it, close the engine. Idempotent."""
        running = [*self._tasks]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self.engine.close()
        if self._logs is not None:
            with suppress(ValueError):  # it was removed
                engine_log.logger.remove(self._logs)


def _forward(message: Any) -> None:
    """A record of the engine's log, with the plugin's tag."""
    level = min(message.record["level"].no, logging.ERROR)
    logger.log(level, "%s", message.record["message"])
