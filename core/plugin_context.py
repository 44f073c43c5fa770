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
from .host.bot_facts import PersonaReader, adapter_of, bot_accounts, clock_of, is_admin
from .host.late_start import providers_are_loaded
from .host.logging_bridge import bridge_logs
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
    AstrBotChat,
    AstrBotReranker,
    answers_itself,
    choose_embedder,
)
from .plugin_names import ROOT, plugin_version
from .replies.status_text import notice_text
from .services.sleep_schedule import SleepSchedule
from .turn.events import Events
from .turn.recent_talk import RecentTalk

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
        """``installing``: the packages that are being installed."""
        self.astrbot = context
        self.reopen = reopen
        self.newest = newest
        self._installing = installing
        self.config = config = read_config(raw_config)
        self.panel_map = PanelMap(raw_config)
        self.texts = Texts(config.language)
        self.version = plugin_version()
        self.paths = EnginePaths.under(data, config.memory_root)
        self.missing = missing_packages(ROOT / "requirements.txt")
        self.clock = clock_of(context)
        self.rate = TypingRate()
        self.talk = RecentTalk()
        self.advice = ""
        """What would make recall better, for the owner; empty where there is nothing to say."""
        personas = PersonaReader(context, self.texts)
        self.events = Events(
            personas,
            partial(adapter_of, context),
            lambda: self.service,
            lambda: context.conversation_manager,
            self.texts,
        )
        reader = config.reflection_provider if config.engine.loop.reads_turns else ""
        self._chat = AstrBotChat(context, reader) if reader else None
        ranker = config.rerank_provider
        self._reranker = AstrBotReranker(context, ranker) if ranker else None
        self._providers_came = False
        self.engine = build_engine(
            self.paths,
            config.engine,
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
        self.schedule = SleepSchedule(self.engine, config.engine.loop.sleep_at, self.clock)
        self._initializer = BackgroundInitializer(
            self.engine,
            self.choose_embedder,
            self.texts,
            self.version,
            self.schedule,
            config.mcp_share,
            self.paths.state,
        )
        self._tasks: set[asyncio.Future[None]] = set()
        self._end_of_logs: Callable[[], None] | None = None

    @property
    def service(self) -> CognitiveService:
        """The engine's entry: the one that decides who sees what."""
        return self.engine.service

    def open(self, *, just_started: bool) -> None:
        """Start the owner task. Returns at once. ``just_started``: AstrBot, a moment ago."""
        self._end_of_logs = bridge_logs(logger)
        for text in (*map(self._warning_text, self.config.warnings), *self._missing_texts()):
            logger.warning(text)
        if just_started or providers_are_loaded(self.astrbot):
            self._initializer.astrbot_is_up(just_started=just_started)
        self.spawn(self._initializer.run(), name="scoped-memory-owner")

    def choose_embedder(self) -> Embedder | None:
        self._providers_came = True
        for warning in self._missing_providers():
            logger.warning(self._warning_text(warning))
        bundled = any(is_installed(name) for name in BUNDLED_MODELS)
        embedder = choose_embedder(
            self.astrbot,
            self.config,
            self.paths,
            self.engine.parts.bundled,
            self.engine.parts.local,
            bundled_is_there=bundled,
            # The slim zip does not name the package; the owner may have installed it all the same.
            torch=is_installed(LOCAL_MODELS_NEED),
        )
        if embedder is None and self.config.embedding != LEXICAL:
            lacks = "no_process" if bundled else "no_model"
            self.advice = self.texts.say(f"log.{lacks}", name=bundled_model_for_here())
            logger.info(self.advice)
        return embedder

    def _missing_providers(self) -> list[ConfigWarning]:
        """Settings that name a provider which is not there now. Until AstrBot has loaded its
        providers, which ones is unknown."""
        reranker, chat, missing = self._reranker, self._chat, []
        if self._providers_came and reranker is not None and not reranker.is_there:
            missing.append(("advanced.rerank_provider", reranker.label))
        if (
            self._providers_came
            and chat is not None
            and not (chat.label == AUTO or chat.is_there(""))
        ):
            missing.append(("reflection_provider", chat.label))
        return [ConfigWarning(name, repr(label)[:80], "-") for name, label in missing]

    def _missing_texts(self) -> list[str]:
        say, to_come = self.texts.say, self._installing()
        return [
            say("log.package_installing" if name in to_come else "log.package_missing", name=name)
            for name in self.missing
        ]

    def _warning_text(self, warning: ConfigWarning) -> str:
        return self.texts.say(
            "log.config_value", name=warning.name, value=warning.value, used=warning.used
        )

    def spawn(self, work: Coroutine[Any, Any, None], name: str = "") -> asyncio.Future[None]:
        """Run something behind the turn. What still runs at ``close`` is cancelled; what fails is
        in the log."""
        task = asyncio.create_task(work, name=name or None)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error(self.texts.say("log.behind_failed"), exc_info=error)

    def astrbot_is_up(self) -> None:
        """AstrBot has loaded its providers: the embedder may be chosen."""
        self._initializer.astrbot_is_up()

    def reads_prompt_only(self, conversation_id: ConversationId) -> bool:
        """True where a third-party runner answers: it gets the prompt and nothing beside it."""
        return not answers_itself(self.astrbot, conversation_id.umo)

    def warnings(self, status: EngineStatus) -> list[str]:
        """All that the owner should look at, as texts."""
        unusable = [*self.config.warnings, *self._missing_providers()]
        return [
            *map(self._warning_text, unusable),
            *self._missing_texts(),
            *filter(None, [self._initializer.fault]),
            *(notice_text(self.texts, notice) for notice in status.notices),
        ]

    def _say(self, notice: Notice) -> None:
        write = {Severity.INFO: logger.info, Severity.WARNING: logger.warning}
        write.get(notice.severity, logger.error)(notice_text(self.texts, notice))

    async def close(self) -> None:
        """Stop the owner task, wait for it, close the engine. Idempotent."""
        running = [*self._tasks]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self.engine.close()
        if self._end_of_logs is not None:
            self._end_of_logs()
