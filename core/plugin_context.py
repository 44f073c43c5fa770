"""The plugin's composition root: config, paths, texts and the engine, opened and closed here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from astrbot.api import logger

from ..llm_memory import (
    CognitiveService,
    ConversationId,
    EnginePaths,
    EngineStatus,
    Notice,
    Severity,
    build_engine,
)
from ..llm_memory.index.embedding.ports import Embedder
from ..llm_memory.texts import Texts
from ..llm_memory.transfer.rules.carried_settings import carried
from .background_initializer import BackgroundInitializer
from .commands.typing_rate import TypingRate
from .config import ConfigWarning, read_config
from .host.bot_facts import PersonaReader, bot_accounts, clock_of, zone_of
from .host.late_start import providers_are_loaded
from .host.logging_bridge import LoggingBridge
from .host.memory_share import MemoryShare
from .host.package_installer import (
    BUNDLED_MODELS,
    bundled_model_for_here,
    is_installed,
    missing_packages,
)
from .host.panel_map import PanelMap
from .host.providers import (
    AUTO,
    LEXICAL,
    LOCAL_MODELS_NEED,
    answers_itself,
    choose_chat,
    choose_embedder,
    choose_reranker,
)
from .plugin_names import ROOT, plugin_version
from .replies.status_text import notice_text
from .services.feedback_service import FeedbackService
from .services.sleep_schedule import SleepSchedule
from .turn.recent_talk import RecentTalk
from .turn.turn_reader import TurnReader, is_admin
from .turn.woken_agents import WokenAgents, adapter_of

type Reopen = Callable[[Callable[[], Coroutine[Any, Any, None]]], Awaitable[None]]
"""Closes all that one load holds, does what it is given, and makes all anew."""


type Newest = Callable[[], Awaitable[PluginContext | None]]
"""What is open when one that was closed is made anew; None where that does not happen."""


async def _never(*_: object) -> None:
    """For a plugin that is not reopened."""


class PluginContext:
    """Everything that one load of the plugin holds. Made in ``initialize``, gone in ``terminate``.

    Nothing here raises because of a config value.
    """

    def __init__(
        self,
        context: Any,
        raw_config: Mapping[str, Any] | None,
        data: Path,
        installing: Callable[[], Collection[str]] = frozenset,
        reopen: Reopen = _never,
        newest: Newest = _never,
    ) -> None:
        self.astrbot = context
        self.reopen = reopen
        self.rate = TypingRate()
        self.newest = newest
        self._installing = installing
        self.config = read_config(raw_config)
        self.panel_map = PanelMap(raw_config)
        self.texts = Texts(self.config.language)
        self.version = plugin_version()
        agents = WokenAgents(partial(adapter_of, context), lambda: self.service, self.texts)
        personas = PersonaReader(context, self.texts)
        self.turns = TurnReader(personas, agents)
        self.paths = EnginePaths.under(data, self.config.memory_root)
        self.missing = missing_packages(ROOT / "requirements.txt")
        self._bridge = LoggingBridge(logger)
        self._reranker = choose_reranker(context, self.config)
        self._chat = choose_chat(context, self.config)
        self._providers_came = False
        self.advice = ""
        """What would make recall better, for the owner; empty where there is nothing to say."""
        self.clock = clock_of(context)
        self.talk = RecentTalk()
        self.engine = build_engine(
            self.paths,
            self.config.engine,
            on_notice=self._say,
            clock=self.clock,
            version=self.version,
            reranker=self._reranker,
            chat=self._chat,
            accounts=partial(bot_accounts, context),
            is_admin=partial(is_admin, context),
            persona_prompt=personas.prompt,
            carried_settings=lambda: carried(self.panel_map.all()),
        )
        self.feedback = FeedbackService(self.engine)
        at = self.config.engine.loop.sleep_at
        self.schedule = SleepSchedule(self.engine, at, zone_of(context), self.texts)
        self._initializer = BackgroundInitializer(
            self.engine,
            self.choose_embedder,
            self.texts,
            self.version,
            self.feedback,
            self.schedule,
            MemoryShare(self.engine.service, self.paths.state, self.config.mcp_share, self.texts),
        )
        self._owner: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Future[None]] = set()

    @property
    def service(self) -> CognitiveService:
        """The engine's entry: the one that decides who sees what."""
        return self.engine.service

    def open(self, *, just_started: bool) -> None:
        """Start the owner task. Returns at once. ``just_started``: AstrBot, a moment ago."""
        self._bridge.open()
        for warning in self.config.warnings:
            logger.warning(self._warning_text(warning))
        for text in self._missing_texts():
            logger.warning(text)
        if just_started or providers_are_loaded(self.astrbot):
            self._initializer.astrbot_is_up(just_started=just_started)
        self._owner = asyncio.create_task(self._initializer.run(), name="scoped-memory-owner")

    def choose_embedder(self) -> Embedder | None:
        self._providers_came = True
        for warning in self._missing_providers():
            logger.warning(self._warning_text(warning))
        # The slim zip does not name the package; the owner may have installed it all the same.
        torch = is_installed(LOCAL_MODELS_NEED)
        bundled = any(is_installed(name) for name in BUNDLED_MODELS)
        embedder = choose_embedder(
            self.astrbot,
            self.config,
            self.paths,
            self.engine.bundled,
            self.engine.local,
            bundled_is_there=bundled,
            torch=torch,
        )
        if embedder is None and self.config.embedding != LEXICAL:
            lacks = "no_process" if bundled else "no_model"
            self.advice = self.texts.say(f"log.{lacks}", name=bundled_model_for_here())
            logger.info(self.advice)
        return embedder

    def _missing_providers(self) -> list[ConfigWarning]:
        """Settings that name a provider which is not there now. Until AstrBot has loaded its
        providers, which ones is unknown."""
        if not self._providers_came:
            return []
        reranker, chat, missing = self._reranker, self._chat, []
        if reranker is not None and not reranker.is_there:
            missing.append(("advanced.rerank_provider", reranker.label))
        if chat is not None and chat.label != AUTO and not chat.is_there(""):
            missing.append(("reflection_provider", chat.label))
        return [ConfigWarning(name, repr(label)[:80], "-") for name, label in missing]

    def _missing_texts(self) -> list[str]:
        to_come = self._installing()
        return [
            self.texts.say(
                "log.package_installing" if name in to_come else "log.package_missing", name=name
            )
            for name in (package.package for package in self.missing)
        ]

    def _warning_text(self, warning: ConfigWarning) -> str:
        return self.texts.say(
            "log.config_value", name=warning.name, value=warning.value, used=warning.used
        )

    def spawn(self, work: Coroutine[None, None, None]) -> asyncio.Future[None]:
        """Run something small behind the turn. What still runs at ``close`` is cancelled."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def astrbot_is_up(self) -> None:
        """AstrBot has loaded its providers: the embedder may be chosen."""
        self._initializer.astrbot_is_up()

    def reads_prompt_only(self, conversation_id: ConversationId) -> bool:
        """True where a third-party runner answers: it gets the prompt and nothing beside it."""
        return not answers_itself(self.astrbot, conversation_id.umo)

    def warnings(self, status: EngineStatus) -> list[str]:
        """All that the owner should look at, as texts."""
        unusable = [*self.config.warnings, *self._missing_providers()]
        texts = [self._warning_text(warning) for warning in unusable]
        texts += self._missing_texts()
        texts += [self._initializer.fault] if self._initializer.fault else []
        return texts + [notice_text(self.texts, notice) for notice in status.notices]

    def _say(self, notice: Notice) -> None:
        text = notice_text(self.texts, notice)
        match notice.severity:
            case Severity.INFO:
                logger.info(text)
            case Severity.WARNING:
                logger.warning(text)
            case Severity.ERROR:
                logger.error(text)

    async def close(self) -> None:
        """Stop the owner task, wait for it, close the engine. Idempotent."""
        running = [*self._tasks, *([self._owner] if self._owner else [])]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        self._owner = None
        await self.engine.close()
        self._bridge.close()
