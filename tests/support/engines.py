"""Engines for tests: as owners have them, but for the parts that a test replaces by name."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    ConversationKind,
    Engine,
    EngineSettings,
    MemoryDraft,
    Notice,
    Pace,
    Recall,
    RememberOutcome,
    Stored,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.composition.engine import build_engine
from astrbot_plugin_scoped_memory.llm_memory.consolidation.report import SleepReport
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Embedder
from astrbot_plugin_scoped_memory.llm_memory.index.ports import VectorStore
from astrbot_plugin_scoped_memory.llm_memory.index.words import Words
from astrbot_plugin_scoped_memory.llm_memory.migration.legacy_port import LegacyStores
from astrbot_plugin_scoped_memory.llm_memory.migration.ports import ForeignCollection
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    ChangeOutcome,
    UndoOutcome,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.embedder_trust import EmbedderTrust
from astrbot_plugin_scoped_memory.llm_memory.recall.memory_manager import Reranker
from astrbot_plugin_scoped_memory.llm_memory.reflection.model import ChatModel
from astrbot_plugin_scoped_memory.llm_memory.service.parts import no_prompt
from astrbot_plugin_scoped_memory.llm_memory.service.paths import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.sync.watcher import FolderWatcher
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.fakes.memory_store import MemoryStore
from astrbot_plugin_scoped_memory.tests.fakes.trust import FixedTrust
from astrbot_plugin_scoped_memory.tests.fakes.watcher import FakeWatcher
from astrbot_plugin_scoped_memory.tests.fakes.words import NoWords

QUICK = EngineSettings(
    open_retry_seconds=0.2,
    pace=Pace(
        retry_seconds=(0.01,),
        pause_seconds=0.0,
        query_seconds=10.0,
        rest_seconds=(0.0, 0.0),
        debounce_seconds=0.01,
        quiet_seconds=0.0,
        scan_seconds=0.05,
    ),
)
"""Nobody waits for the bot of a test."""


def with_pace(settings: EngineSettings, **changes: Any) -> EngineSettings:
    """The settings with another pace of the index."""
    return replace(settings, pace=replace(settings.pace, **changes))


ADAPTER = "aiocqhttp"
MAP = {
    "aiocqhttp:GroupMessage:777": "家人",
    "aiocqhttp:FriendMessage:1002": "家人",
    "aiocqhttp:GroupMessage:888": "公司",
}


def group(number: int | str, *, persona: str | None = "") -> ConversationId:
    """A group chat on the account ``aiocqhttp``."""
    umo = f"{ADAPTER}:GroupMessage:{number}"
    kind = ConversationKind.GROUP
    return ConversationId(umo, ADAPTER, ADAPTER, kind, group=str(number), persona=persona)


def private(number: int | str, *, persona: str | None = "") -> ConversationId:
    """A private chat on the account ``aiocqhttp``."""
    umo = f"{ADAPTER}:FriendMessage:{number}"
    kind = ConversationKind.PRIVATE
    return ConversationId(umo, ADAPTER, ADAPTER, kind, peer=str(number), persona=persona)


def person(number: int | str, name: str = "小明", *, admin: bool = False) -> Actor:
    """Somebody on the same platform."""
    return Actor(f"{ADAPTER}:{number}", name, admin)


@dataclass
class Ticker:
    """A clock that moves a second at each look."""

    now: datetime = field(default_factory=lambda: datetime(2026, 11, 21, 18, 0, tzinfo=UTC))

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@dataclass
class Rig:
    """An open engine and what it was made of."""

    engine: Engine
    embedder: Embedder
    root: Path
    notices: list[Notice]
    clock: Callable[[], datetime]

    async def tell(
        self, text: str, where: ConversationId, who: Actor | None = None, **more: Any
    ) -> RememberOutcome:
        """Somebody wants it stored. ``more``: of the draft."""
        draft = MemoryDraft(text, actor=who or person(10001), **more)
        return await self.engine.service.remember(draft, conversation_id=where)

    async def remember(
        self, text: str, where: ConversationId, who: Actor | None = None, **more: Any
    ) -> Stored:
        """Store, and be told that it was."""
        outcome = await self.tell(text, where, who, **more)
        assert isinstance(outcome, Stored), outcome
        return outcome

    async def stored_id(
        self, text: str, where: ConversationId, who: Actor | None = None, **more: Any
    ) -> str:
        """The id of what was just stored."""
        return (await self.remember(text, where, who, **more)).memory.memory.memory_id

    async def recall(
        self, query: str, where: ConversationId, limit: int = 5, **more: Any
    ) -> Recall:
        """What a conversation recalls."""
        asked: dict[str, Any] = {"token_budget": 5000, **more}
        return await self.engine.service.recall(query, conversation_id=where, limit=limit, **asked)

    async def texts(self, query: str, where: ConversationId, limit: int = 5) -> list[str]:
        """The previews of what a conversation recalls."""
        return [hit.preview for hit in (await self.recall(query, where, limit)).hits]

    async def unasked(self, query: str, where: ConversationId, limit: int = 5) -> Recall:
        """What would be attached to a message."""
        return await self.recall(query, where, limit, in_talk=True)

    async def newest(self, where: ConversationId) -> list[str]:
        """All that lives and can be seen there, the newest first."""
        found = await self.engine.service.newest(conversation_id=where)
        return [stored.memory.judgment for stored in found]

    def living(self) -> list[StoredMemory]:
        """Every memory that lives."""
        return list(self.engine.parts.catalogue.all())

    def only(self) -> StoredMemory:
        """The one memory that lives."""
        (stored,) = self.living()
        return stored

    async def forget(
        self, memory_id: str, where: ConversationId, who: Actor, *, for_good: bool = False
    ) -> ChangeOutcome:
        """Somebody wants it forgotten, or out of the archive, too."""
        return await self.engine.service.forget(
            memory_id, conversation_id=where, actor=who, for_good=for_good
        )

    async def edit(
        self, memory_id: str, text: str, where: ConversationId, who: Actor
    ) -> ChangeOutcome:
        """Somebody gives it other words."""
        service = self.engine.service
        return await service.edit(memory_id, text, conversation_id=where, actor=who)

    async def move(
        self, memory_id: str, scope: str, where: ConversationId, who: Actor
    ) -> ChangeOutcome:
        """Somebody moves it to another scope."""
        service = self.engine.service
        return await service.move(memory_id, scope, conversation_id=where, actor=who)

    async def restore(self, memory_id: str, where: ConversationId, who: Actor) -> UndoOutcome:
        """Somebody takes back what was done last to it, or, without an id, what they did last."""
        return await self.engine.service.restore(memory_id, conversation_id=where, actor=who)

    async def night(self, reason: str = "nightly", **more: Any) -> SleepReport:
        """A whole run of what is done at night."""
        return await self.engine.sleep.run_once(reason, **more)

    async def until_indexed(self) -> None:
        """Wait for the index to be ready and caught up; without vectors for that of words."""
        async with asyncio.timeout(60):
            while True:
                status = await self.engine.status()
                settled = not status.backlog and not status.leaving
                parts = self.engine.parts
                index = parts.lexical if status.index == "lexical" else parts.indexing
                if index.in_step and settled:
                    return
                await asyncio.sleep(0.01)

    async def until_words(self) -> None:
        """Wait for the index of words to be ready and caught up."""
        await until_true(lambda: self.engine.parts.lexical.in_step)


@contextlib.asynccontextmanager
async def running(
    root: Path,
    scope_map: Mapping[str, object] = MAP,
    *,
    store: VectorStore | None = None,
    embedder: Embedder | None = None,
    words_alone: bool = False,
    settings: EngineSettings | None = None,
    follow: bool = True,
    clock: Callable[[], datetime] | None = None,
    watcher: FolderWatcher | None = None,
    words: Words | None = None,
    vector_bytes: int | None = None,
    trust: EmbedderTrust | None = None,
    reranker: Reranker | None = None,
    legacy: ForeignCollection | None = None,
    others: LegacyStores | None = None,
    chat: ChatModel | None = None,
    accounts: frozenset[str] | None = None,
    is_admin: Callable[[str], bool] = lambda _: False,
    persona_prompt: Callable[[str], Awaitable[str]] = no_prompt,
    carried_settings: Mapping[str, object] | None = None,
) -> AsyncIterator[Rig]:
    """An engine over ``root``; the index task runs unless ``follow`` is False. A fake embedder
    takes part where none is named, and none where ``words_alone`` are to serve. Of more vectors
    than ``vector_bytes`` the store is asked."""
    notices: list[Notice] = []
    chosen = embedder or FakeEmbedder()
    now = clock or Ticker()
    replacing: dict[str, object] = {
        "watcher": watcher or FakeWatcher(missing="no test told of any"),
        "store": store or MemoryStore(),
        "tokenizer": Tokenizer(use_jieba=False),
        **({} if words is None else {"words": words}),
        "trust": trust or FixedTrust(),
        "bundled": None,
        "local": FakeEmbedder,
        "legacy": legacy,
        "others": others,
        **({} if others else {"staging": None}),
    }
    engine = build_engine(
        EnginePaths.under(root),
        replace(settings or QUICK, scope_map=scope_map),
        on_notice=notices.append,
        clock=now,
        reranker=reranker,
        chat=chat,
        accounts=lambda: accounts,
        is_admin=is_admin,
        persona_prompt=persona_prompt,
        carried_settings=lambda: carried_settings or {},
        replacing=replacing,
    )
    if vector_bytes is not None:
        engine.parts.indexing.most_bytes = vector_bytes
    task: asyncio.Task[None] | None = None
    try:
        await engine.open()
        if follow:
            task = asyncio.create_task(engine.run(None if words_alone else chosen))
        yield Rig(engine, chosen, root, notices, now)
    finally:
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await engine.close()


def running_on_vectors(
    root: Path, *arguments: Any, **options: Any
) -> AbstractAsyncContextManager[Rig]:
    """An engine without an index of words: what is found, the vectors' index finds, or a scan."""
    return running(root, *arguments, words=NoWords(), **options)
