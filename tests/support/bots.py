"""A bot's memory without recall: real vault and ledger on disk, the index in a dictionary."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.llm_memory.catalogue.catalogue import Catalogue, key_of
from astrbot_plugin_scoped_memory.llm_memory.catalogue.recallable_memories import RecallableMemories
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.passage_text import indexed_text
from astrbot_plugin_scoped_memory.llm_memory.models.conversation import Actor
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    Memory,
    Provenance,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.models.settings import Pace
from astrbot_plugin_scoped_memory.llm_memory.remember.deeds import (
    Deeds,
)
from astrbot_plugin_scoped_memory.llm_memory.remember.rules.gate import route
from astrbot_plugin_scoped_memory.llm_memory.runtime.identifiers import make_id
from astrbot_plugin_scoped_memory.llm_memory.runtime.notice_board import NoticeBoard
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.llm_memory.sync.reconciler import Reconciler
from astrbot_plugin_scoped_memory.llm_memory.vault.ledger import SqliteLedger
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.support.engines import person

FAMILY, WORK = Scope.parse("家人"), Scope.parse("公司")
AT_ONCE = Pace(debounce_seconds=0.01, quiet_seconds=0.0, scan_seconds=0.05)


@dataclass
class DictIndex:
    """A follower that keeps what it was told, as an index does."""

    records: dict[Key, StoredMemory] = field(default_factory=dict)
    told: int = 0

    def enqueue(self, stored: StoredMemory) -> None:
        self.told += 1
        self.records[key_of(stored)] = stored

    def enqueue_removal(self, stored: StoredMemory) -> None:
        self.told += 1
        self.records.pop(key_of(stored), None)


class Wall:
    """The clock on the wall, which tells no second twice."""

    def __init__(self) -> None:
        self._last = datetime.fromtimestamp(0, UTC)

    def __call__(self) -> datetime:
        self._last = max(datetime.now(UTC), self._last + timedelta(seconds=1))
        return self._last


@dataclass
class Watch:
    """Seconds that pass when a test says so."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


class Bot:
    """One life of a bot, from start to stop or kill."""

    def __init__(
        self,
        root: Path,
        *,
        pace: Pace = AT_ONCE,
        ledger: bool = True,
        elapsed: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.root = root
        kept = SqliteLedger(root / "state" / "vault.sqlite" if ledger else None)
        self.vault = MarkdownVault(root / "memory", kept, now=now)
        self.catalogue = Catalogue()
        self.index = DictIndex()
        self.living = RecallableMemories(self.catalogue, [self.index])
        self.notices = NoticeBoard()
        self.clock = Wall()
        self.state = SqliteStateStore(root / "state" / "state.sqlite")
        self.state.open()
        self.reconciler = Reconciler(
            self.vault,
            self.catalogue,
            self.living,
            Deeds(self.state, self.clock),
            self.notices,
            self.clock,
            pace,
            elapsed=elapsed,
        )

    async def start(self) -> None:
        """Read the vault; the index is compared with it, as it is when it is opened."""
        self.vault.open()
        await self.reconciler.load()
        self.index.records = {key_of(stored): stored for stored in self.catalogue.all()}
        self.index.told = 0

    async def look(self) -> None:
        """Take in what people did."""
        await self.reconciler.reconcile()

    async def says(self, text: str, scope: Scope = FAMILY, who: Actor | None = None) -> str:
        """Remember, or make stronger what is known in these words: the id."""
        origin = Provenance((who or person(1)).name, (who or person(1)).person)
        now = self.clock()
        memory = Memory(make_id("m", now), text, now, provenance=origin)
        known = self.catalogue.same_words(scope, memory)
        async with self.living.writing:
            current = known and await asyncio.to_thread(self.vault.current, known)
            if current is None:
                topic = route(memory.kind, text, trusted=False)
                stored = await asyncio.to_thread(self.vault.append, scope, topic, memory)
            else:
                strength = min(current.memory.strength + 5, 100)
                stronger = replace(current.memory, strength=strength)
                stored = await asyncio.to_thread(self.vault.replace, current, stronger)
            self.living.take(stored)
        return stored.memory.memory_id

    async def forgets(self, memory_id: str, scope: Scope = FAMILY) -> None:
        """By command."""
        stored = self.catalogue.get(Key(scope.name, memory_id))
        assert stored is not None
        async with self.living.writing:
            await asyncio.to_thread(self.vault.archive, stored, by=person(1), at=self.clock())
            self.living.drop(stored)

    async def edits(self, memory_id: str, text: str, scope: Scope = FAMILY) -> None:
        """By command."""
        stored = self.catalogue.get(Key(scope.name, memory_id))
        assert stored is not None
        async with self.living.writing:
            now = await asyncio.to_thread(self.vault.current, stored)
            assert now is not None
            changed = replace(now.memory, judgment=text)
            at = self.clock().replace(microsecond=0)
            edited = await asyncio.to_thread(self.vault.edit, now, changed, by=person(1), at=at)
            self.living.take(edited)

    async def restores(self, memory_id: str, scope: Scope = FAMILY) -> StoredMemory | None:
        """By command."""
        async with self.living.writing:
            back = await asyncio.to_thread(self.vault.restore, scope, [memory_id])
            for one in back:
                self.living.take(one)
        return back[0] if back else None

    def folder(self, scope: Scope = FAMILY) -> Path:
        """A scope's folder."""
        return self.root / "memory" / "scopes" / scope.name

    def file(self, name: str = "preferences.md", scope: Scope = FAMILY) -> Path:
        """A file of a scope."""
        return self.folder(scope) / name

    def memory(self, memory_id: str, scope: Scope = FAMILY) -> Memory:
        """A living memory."""
        stored = self.catalogue.get(Key(scope.name, memory_id))
        assert stored is not None
        return stored.memory

    def texts(self, scope: Scope = FAMILY) -> list[str]:
        """What lives in a scope."""
        return sorted(s.memory.judgment for s in self.catalogue.all() if s.scope == scope)

    def held(self) -> dict[str, str]:
        """The scopes that are held, and how many of their entries."""
        return {
            notice.params["scope"]: notice.params["count"]
            for notice in self.notices.standing()
            if notice.code == "vault_held"
        }

    def check(self) -> None:
        """The catalogue is what a bot that starts now would read, and an index has its texts."""
        fresh = {
            key_of(stored): stored
            for scope in self.vault.scopes()
            for stored in self.vault.read(scope).memories
        }
        assert {key_of(stored): stored for stored in self.catalogue.all()} == fresh
        told = {key: indexed_text(stored) for key, stored in self.index.records.items()}
        assert told == {key: indexed_text(stored) for key, stored in fresh.items()}
        for scope in self.vault.scopes():
            reasons = {report.reason for report in self.vault.read(scope).broken}
            assert "duplicate_id" not in reasons

    def stop(self) -> None:
        """Let go; a kill leaves no more behind."""
        self.vault.ledger.close()


@contextlib.asynccontextmanager
async def living(root: Path, **options: Any) -> AsyncIterator[Bot]:
    """A bot over ``root``, started."""
    bot = Bot(root, **options)
    try:
        await bot.start()
        yield bot
    finally:
        await asyncio.to_thread(bot.stop)
