"""Engines for tests: real vault, state and manifest over a temporary folder."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    ConversationKind,
    Engine,
    EngineSettings,
    IndexPace,
    IndexState,
    MemoryDraft,
    Notice,
    Recall,
    Stored,
)
from astrbot_plugin_scoped_memory.llm_memory.composition.assembly import assemble
from astrbot_plugin_scoped_memory.llm_memory.consolidation.backup_files import DailyBackups
from astrbot_plugin_scoped_memory.llm_memory.consolidation.sleep_store import SqliteSleepStore
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Embedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding_cache import SqliteVectorCache
from astrbot_plugin_scoped_memory.llm_memory.index.lexical.lexical_index import SqliteLexicalIndex
from astrbot_plugin_scoped_memory.llm_memory.index.lexical_port import LexicalIndex
from astrbot_plugin_scoped_memory.llm_memory.index.lexical_scan import LexicalScan
from astrbot_plugin_scoped_memory.llm_memory.index.manifest import JsonManifest
from astrbot_plugin_scoped_memory.llm_memory.index.ports import VectorStore
from astrbot_plugin_scoped_memory.llm_memory.migration.adoption_staging import AdoptionStaging
from astrbot_plugin_scoped_memory.llm_memory.migration.legacy_port import LegacyStores
from astrbot_plugin_scoped_memory.llm_memory.migration.migration_store import SqliteMigrationStore
from astrbot_plugin_scoped_memory.llm_memory.migration.ports import ForeignCollection
from astrbot_plugin_scoped_memory.llm_memory.models.settings import VaultPace, WalkPace
from astrbot_plugin_scoped_memory.llm_memory.recall.ports import Reranker, TrustBook
from astrbot_plugin_scoped_memory.llm_memory.reflection.chat_port import ChatModel
from astrbot_plugin_scoped_memory.llm_memory.reflection.turn_store import SqliteTurnStore
from astrbot_plugin_scoped_memory.llm_memory.runtime.identifiers import make_id
from astrbot_plugin_scoped_memory.llm_memory.scopes.pause_mark_file import PauseMarkFile
from astrbot_plugin_scoped_memory.llm_memory.service.engine_parts import EngineParts
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import DirectoryLock
from astrbot_plugin_scoped_memory.llm_memory.storage.formats.index_format import IndexFormat
from astrbot_plugin_scoped_memory.llm_memory.storage.formats.loop_schema import (
    FORMAT as LOOP_FORMAT,
)
from astrbot_plugin_scoped_memory.llm_memory.storage.formats.loop_schema import STEPS as LOOP_STEPS
from astrbot_plugin_scoped_memory.llm_memory.storage.formats.state_format import StateFormat
from astrbot_plugin_scoped_memory.llm_memory.storage.formats.vault_format import VaultFormat
from astrbot_plugin_scoped_memory.llm_memory.storage.formats_port import StoredFormat
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_facts import SqliteLoopFacts
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.llm_memory.storage.store_files import StoreFiles
from astrbot_plugin_scoped_memory.llm_memory.sync.ports import Watcher
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer
from astrbot_plugin_scoped_memory.llm_memory.transfer.line_files import TransferFolders
from astrbot_plugin_scoped_memory.llm_memory.vault.ledger import SqliteLedger
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.llm_memory.vault.notes.markdown_notes import MarkdownNotes
from astrbot_plugin_scoped_memory.llm_memory.vault.scope_pages import ScopePagesOnDisk
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.fakes.lexical_index import NoWords
from astrbot_plugin_scoped_memory.tests.fakes.trust import FixedTrust
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import InMemoryVectorStore
from astrbot_plugin_scoped_memory.tests.fakes.watcher import FakeWatcher

QUICK = EngineSettings(
    open_retry_seconds=0.2,
    pace=IndexPace(pause_seconds=0.0, idle_seconds=0.05, retry_seconds=(0.01,), query_seconds=10.0),
    vault_pace=VaultPace(debounce_seconds=0.01, quiet_seconds=0.0, scan_seconds=0.05),
    walk_pace=WalkPace(least_pause=0.0, most_pause=0.0, retry_seconds=(0.01,)),
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

    async def remember(self, text: str, where: ConversationId, who: Actor | None = None) -> Stored:
        """Store, and be told that it was."""
        draft = MemoryDraft(text, actor=who or person(10001))
        outcome = await self.engine.service.remember(draft, conversation_id=where)
        assert isinstance(outcome, Stored), outcome
        return outcome

    async def recall(self, query: str, where: ConversationId, limit: int = 5) -> Recall:
        """What a conversation recalls."""
        return await self.engine.service.recall(
            query, conversation_id=where, limit=limit, token_budget=5000
        )

    async def texts(self, query: str, where: ConversationId, limit: int = 5) -> list[str]:
        """The previews of what a conversation recalls."""
        return [hit.preview for hit in (await self.recall(query, where, limit)).hits]

    async def until_indexed(self) -> None:
        """Wait for the index to be ready and caught up; without vectors for that of words."""
        async with asyncio.timeout(60):
            while True:
                status = await self.engine.status()
                settled = not status.backlog and not status.leaving
                rooms = self.engine.rooms
                index = rooms.words if status.index is IndexState.LEXICAL else rooms.indexing
                if index.in_step and settled:
                    return
                await asyncio.sleep(0.01)


def plain_words(path: Path) -> SqliteLexicalIndex:
    """An index of words that needs no dictionary."""
    return SqliteLexicalIndex(path, Tokenizer(use_jieba=False))


def formats_of(root: Path) -> tuple[StoredFormat, ...]:
    """What an engine over ``root`` looks at before it opens anything."""
    backups = root / "backups"
    return (
        VaultFormat(root / "memory", backups),
        StateFormat(root / "state" / "state.sqlite", backups),
        StateFormat(root / "state" / "loop.sqlite", backups, known=LOOP_FORMAT, steps=LOOP_STEPS),
        IndexFormat(root / "index"),
    )


@contextlib.asynccontextmanager
async def running(
    root: Path,
    scope_map: Mapping[str, object] | None = MAP,
    *,
    store: VectorStore | None = None,
    embedder: Embedder | None = None,
    words_alone: bool = False,
    settings: EngineSettings | None = None,
    follow: bool = True,
    formats: Sequence[StoredFormat] | None = None,
    clock: Callable[[], datetime] | None = None,
    watcher: Watcher | None = None,
    words: LexicalIndex | None = None,
    trust: TrustBook | None = None,
    reranker: Reranker | None = None,
    legacy: ForeignCollection | None = None,
    others: LegacyStores | None = None,
    chat: ChatModel | None = None,
    accounts: frozenset[str] | None = None,
    is_admin: Callable[[str], bool] = lambda _: False,
    carried_settings: Mapping[str, object] | None = None,
) -> AsyncIterator[Rig]:
    """An engine over ``root``; the index task runs unless ``follow`` is False. A fake embedder
    takes part where none is named, and none where ``words_alone`` are to serve."""
    notices: list[Notice] = []
    chosen = embedder or FakeEmbedder()
    now = clock or Ticker()
    loop_file = SqliteLoopFile(root / "state" / "loop.sqlite")
    engine = assemble(
        EngineParts(
            vault=MarkdownVault(
                root / "memory",
                SqliteLedger(root / "state" / "vault.sqlite"),
                make_id=partial(make_id, "m"),
            ),
            watcher=watcher or FakeWatcher(missing="no test told of any"),
            notes=MarkdownNotes(root / "memory"),
            state=SqliteStateStore(root / "state" / "state.sqlite"),
            store=store or InMemoryVectorStore(),
            manifest=JsonManifest(root / "index" / "manifest.json"),
            cache=SqliteVectorCache(root / "index" / "embeddings.sqlite"),
            words=words or plain_words(root / "index" / "lexical.sqlite"),
            trust=trust or FixedTrust(),
            scanner=LexicalScan(Tokenizer(use_jieba=False)),
            locks=(DirectoryLock(root),),
            transfers=TransferFolders(root),
            migrations=SqliteMigrationStore(root / "state" / "migration.sqlite"),
            loop_file=loop_file,
            turns=SqliteTurnStore(loop_file),
            loop_book=SqliteLoopFacts(loop_file),
            pause_marks=PauseMarkFile(root / "memory"),
            sleep_store=SqliteSleepStore(loop_file),
            pages=ScopePagesOnDisk(root / "memory"),
            backups=DailyBackups(root / "backups" / "daily", root / "memory"),
            files=StoreFiles(root, root / "memory"),
            local=FakeEmbedder,
            legacy=legacy,
            others=others,
            staging=AdoptionStaging(root / "state" / "adoption") if others else None,
            formats=formats_of(root) if formats is None else formats,
            reranker=reranker,
            chat=chat,
            accounts=lambda: accounts,
            is_admin=is_admin,
            carried_settings=lambda: carried_settings or {},
        ),
        replace(settings or QUICK, scope_map=scope_map),
        on_notice=notices.append,
        clock=now,
    )
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
