"""Sixteen conversations over eight scopes, all at once: no leak, no loss, no deadlock."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    Expanded,
    Forgotten,
    MemoryDraft,
    PointerNotVisible,
    Stored,
)
from astrbot_plugin_scoped_memory.llm_memory.index.ports import VectorStore
from astrbot_plugin_scoped_memory.llm_memory.index.vector.embedded import EmbeddedChroma
from astrbot_plugin_scoped_memory.llm_memory.index.vector.vector_store import ChromaVectorStore
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import InMemoryVectorStore
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running

pytestmark = pytest.mark.engine

SCOPES = ["家人", "家", "公司", "公司2", "public-x", "a", "a-a", "public"]
PLACES = {group(number): SCOPES[number % len(SCOPES)] for number in range(16)}
SECONDS = 5.0


class Conversation:
    """Writes, reads and forgets as fast as it can, and checks all that it is told."""

    def __init__(self, rig: Rig, where: ConversationId, log: dict[str, str]) -> None:
        self._rig = rig
        self.where = where
        self._scope = PLACES[where]
        self._log = log
        self._number = int(where.session)
        self._random = random.Random(self._number)
        self.living: dict[str, str] = {}
        self.found: set[str] = set()
        self.rounds = 0

    async def run(self, until: float) -> None:
        """Until the clock says so, and twice at least."""
        while self.rounds < 2 or time.monotonic() < until:
            self.rounds += 1
            await self._write()
            await self._read()
            if self.rounds % 3 == 0:
                await self._peek()
            if self.rounds % 5 == 0:
                await self._forget()
            if self.rounds % 7 == 0:
                await self._say_it_again()

    async def _write(self) -> None:
        text = f"{self._scope}里第{self._number}个会话的第{self.rounds}件事"
        stored = await self._rig.remember(text, self.where, person(self._number))
        assert stored.memory.scope.name == self._scope
        self._log[stored.memory.memory.memory_id] = self._scope
        self.living[stored.memory.memory.memory_id] = text
        found = await self._rig.engine.service.expand(
            stored.memory.pointer, conversation_id=self.where
        )
        assert isinstance(found, Expanded)

    async def _read(self) -> None:
        text = self._random.choice(list(self.living.values()))
        recall = await self._rig.recall(text, self.where, 5)
        assert {hit.scope_name for hit in recall.hits} <= {self._scope, "public"}
        self.found.update(hit.memory_id for hit in recall.hits)
        assert text in {hit.preview for hit in recall.hits}
        newest = await self._rig.engine.service.newest(conversation_id=self.where, limit=20)
        assert {stored.scope.name for stored in newest} <= {self._scope, "public"}

    def found_in(self) -> set[str]:
        """Scopes of all that it was told: a memory can be found before its writer knows the ID."""
        return {self._log[memory_id] for memory_id in self.found}

    async def _peek(self) -> None:
        others = [m for m, scope in self._log.items() if scope not in {self._scope, "public"}]
        if others:
            pointer = self._random.choice(others)
            found = await self._rig.engine.service.expand(pointer, conversation_id=self.where)
            assert isinstance(found, PointerNotVisible)

    async def _forget(self) -> None:
        memory_id = self._random.choice(list(self.living))
        gone = await self._rig.engine.service.forget(
            memory_id, conversation_id=self.where, actor=person(self._number)
        )
        assert isinstance(gone, Forgotten)
        del self.living[memory_id]

    async def _say_it_again(self) -> None:
        text = self._random.choice(list(self.living.values()))
        outcome = await self._rig.engine.service.remember(
            MemoryDraft(text, actor=person(self._number)), conversation_id=self.where
        )
        assert not isinstance(outcome, Stored)


async def rounds(root: Path, store: VectorStore, again: VectorStore, seconds: float) -> None:
    """All conversations for so long; then everything acknowledged is there after a restart."""
    scope_map = {where.umo: scope for where, scope in PLACES.items()}
    log: dict[str, str] = {}
    async with running(root, scope_map, store=store) as rig:
        conversations = [Conversation(rig, where, log) for where in PLACES]
        until = time.monotonic() + seconds
        async with asyncio.timeout(seconds + 60):
            await asyncio.gather(*(conversation.run(until) for conversation in conversations))
            assert all(conversation.rounds > 1 for conversation in conversations)
            await rig.until_indexed()
        assert all(one.found_in() <= {PLACES[one.where], "public"} for one in conversations)
        assert (await rig.engine.status()).scope_check_drops == 0
    living = {m: text for c in conversations for m, text in c.living.items()}
    async with running(root, scope_map, store=again) as rig:
        await rig.until_indexed()
        counts = (await rig.engine.status()).by_scope
        assert sum(counts.values()) == len(living)
        for where, scope in PLACES.items():
            newest = await rig.engine.service.newest(conversation_id=where, limit=10**6)
            own = {stored.memory.memory_id for stored in newest if stored.scope.name == scope}
            assert own == {memory_id for memory_id in living if log[memory_id] == scope}
            assert {stored.memory.judgment for stored in newest} <= set(living.values())


@pytest.mark.timeout(180)
async def test_sixteen_conversations_over_eight_scopes_for_seconds(tmp_path: Path) -> None:
    store = InMemoryVectorStore()
    await rounds(tmp_path, store, InMemoryVectorStore(store.disk), SECONDS)


@pytest.mark.timeout(180)
async def test_the_same_over_the_real_index_for_a_short_while(tmp_path: Path) -> None:
    folder = tmp_path / "index" / "chroma"
    await rounds(
        tmp_path,
        ChromaVectorStore(EmbeddedChroma(folder)),
        ChromaVectorStore(EmbeddedChroma(folder)),
        3.0,
    )
