"""The index breaks, fills up, hangs or wears out; the bot goes on, and the index comes back."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until_true as until
from astrbot_plugin_scoped_memory.llm_memory import (
    IndexState,
    IndexUnavailable,
    NoticeCode,
)
from astrbot_plugin_scoped_memory.llm_memory.errors import IndexFull
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector, Vectors
from astrbot_plugin_scoped_memory.llm_memory.index.ports import IndexRecord, Neighbours
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.llm_memory.models.scope import ScopeFilter
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder, PickyEmbedder
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import Disk, InMemoryVectorStore
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    group,
    person,
    running_on_vectors,
    with_pace,
)
from astrbot_plugin_scoped_memory.tests.support.indexed import standing

pytestmark = pytest.mark.engine

PEANUTS, QUESTION = "奶奶对花生过敏", "奶奶能吃花生吗"


def said(rig: Rig) -> set[NoticeCode]:
    """What was said so far."""
    return {notice.code for notice in rig.notices}


class Rotten(InMemoryVectorStore):
    """Fails at every question until it is begun anew."""

    def __init__(self, disk: Disk | None = None) -> None:
        super().__init__(disk)
        self.rotten = False
        self.discarded: list[str] = []
        self.rests = 0

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        if self.rotten:
            raise IndexUnavailable("bad block")
        return super().query(vector, scope_filter, k)

    def hashes(self) -> dict[Key, str]:
        if self.rotten:
            raise IndexUnavailable("bad block")
        return super().hashes()

    def discard(self, reason: str) -> None:
        self.discarded.append(reason)
        self.rotten = False
        super().discard(reason)

    def worn(self) -> bool:
        self.rests += 1
        return super().worn()


async def test_an_index_that_fails_again_and_again_is_begun_anew_at_no_cost(
    tmp_path: Path,
) -> None:
    store, embedder = Rotten(), FakeEmbedder()
    async with running_on_vectors(tmp_path, store=store, embedder=embedder) as rig:
        for number in range(30):
            await rig.remember(f"第{number}号柜子里是旧书", group(777))
        await rig.remember(PEANUTS, group(777))
        await rig.until_indexed()
        paid = embedder.calls
        store.rotten = True
        assert PEANUTS in await rig.texts(QUESTION, group(777))
        await until(lambda: store.discarded == ["faulty"])
        await rig.until_indexed()
        assert embedder.calls == paid + 1  # the question; the memories came from the cache
        assert store.count() == 31
        recall = await rig.recall(QUESTION, group(777))
        assert recall.trace.arm is Arm.DENSE
        assert recall.hits[0].preview == PEANUTS
        assert {NoticeCode.INDEX_OFF, NoticeCode.INDEX_REBUILT} <= said(rig)
        assert await standing(rig) == set()


class Full(InMemoryVectorStore):
    """Takes nothing while its disk is full."""

    full = False

    def upsert(self, records: Sequence[IndexRecord], vectors: Vectors) -> None:
        if self.full:
            raise IndexFull("10 MB free")
        super().upsert(records, vectors)


async def test_a_full_disk_stops_writes_and_nothing_else(tmp_path: Path) -> None:
    store = Full()
    async with running_on_vectors(tmp_path, store=store) as rig:
        await rig.remember(PEANUTS, group(777))
        await rig.until_indexed()
        store.full = True
        await rig.remember("奶奶喜欢豆浆", group(777))
        await until(lambda: NoticeCode.INDEX_FULL in said(rig))
        status = await rig.engine.status()
        assert status.index is IndexState.READY
        assert status.backlog == 1
        recall = await rig.recall("奶奶 花生 豆浆", group(777))
        assert recall.trace.arm is Arm.DENSE
        assert {hit.preview for hit in recall.hits} == {PEANUTS, "奶奶喜欢豆浆"}
        assert await rig.texts("奶奶喜欢豆浆吗", group(888)) == []
        store.full = False
        await rig.until_indexed()
        assert store.count() == 2
        assert await standing(rig) == set()


async def test_what_waits_for_the_index_is_found_beside_all_that_it_holds(tmp_path: Path) -> None:
    store = Full()
    async with running_on_vectors(tmp_path, store=store) as rig:
        for number in range(40):
            await rig.remember(f"第{number}号柜子里是旧书", group(777))
        await rig.until_indexed()
        store.full = True
        await rig.remember(PEANUTS, group(777))
        recall = await rig.recall(PEANUTS, group(777))
        assert recall.trace.arm is Arm.DENSE
        assert recall.hits[0].preview == PEANUTS
        assert (await rig.unasked("明天的天气怎么样", group(777))).hits == ()


class Stuck(InMemoryVectorStore):
    """Questions hang while ``go`` is not set; ``asked`` counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.go.set()
        self.asked = 0

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        self.asked += 1
        self.go.wait(30)
        return super().query(vector, scope_filter, k)


async def test_an_index_that_hangs_is_not_waited_for_nor_asked_again(tmp_path: Path) -> None:
    store = Stuck()
    settings = with_pace(QUICK, query_seconds=0.02)
    async with running_on_vectors(tmp_path, store=store, settings=settings) as rig:
        await rig.remember(PEANUTS, group(777))
        await rig.until_indexed()
        store.asked = 0  # a draft may have asked for its like
        store.go.clear()
        try:
            for _ in range(10):
                recall = await rig.recall(QUESTION, group(777))
                assert recall.trace.arm is Arm.SCAN
                assert recall.hits[0].preview == PEANUTS
                assert await rig.texts(QUESTION, group(888)) == []
            assert store.asked == 2
            assert NoticeCode.INDEX_OFF in await standing(rig)
        finally:
            store.go.set()
        async with asyncio.timeout(30):
            while (await rig.recall(QUESTION, group(777))).trace.arm is not Arm.DENSE:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert await standing(rig) == set()


class Held(InMemoryVectorStore):
    """Another process has the database while ``held``."""

    held = False

    def upsert(self, records: Sequence[IndexRecord], vectors: Vectors) -> None:
        self._refuse()
        super().upsert(records, vectors)

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        self._refuse()
        return super().query(vector, scope_filter, k)

    def _refuse(self) -> None:
        if self.held:
            raise IndexUnavailable("chroma.sqlite3 is locked", code="busy")


async def test_an_index_that_somebody_else_holds_is_done_without_and_not_closed(
    tmp_path: Path,
) -> None:
    store = Held()
    async with running_on_vectors(tmp_path, store=store) as rig:
        await rig.remember(PEANUTS, group(777))
        await rig.until_indexed()
        store.held = True
        await rig.remember("奶奶喜欢豆浆", group(777))
        recall = await rig.recall("奶奶 花生 豆浆", group(777))
        assert recall.trace.arm is Arm.SCAN
        assert {hit.preview for hit in recall.hits} == {PEANUTS, "奶奶喜欢豆浆"}
        await until(lambda: NoticeCode.INDEX_OFF in said(rig))
        assert (await rig.engine.status()).index is IndexState.READY
        store.held = False
        await rig.until_indexed()
        assert store.count() == 2
        assert (await rig.recall(QUESTION, group(777))).trace.arm is Arm.DENSE
        assert await standing(rig) == set()


class Sluggish(Stuck):
    """Answers, but only after its caller has left; ``inside`` counts who waits for that."""

    inside = 0

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        self.inside += 1
        try:
            return super().query(vector, scope_filter, k)
        finally:
            self.inside -= 1


async def test_an_index_that_is_always_too_slow_is_said(tmp_path: Path) -> None:
    settings = with_pace(QUICK, query_seconds=0.001)
    store = Sluggish()
    async with running_on_vectors(tmp_path, store=store, settings=settings) as rig:
        await rig.remember(PEANUTS, group(777))
        await rig.until_indexed()
        rig.engine.rooms.indexing.faults.answered()  # the draft's own question was slow, too
        for number in range(30):
            assert (NoticeCode.INDEX_OFF in said(rig)) is (number >= 20)
            store.go.clear()
            recall = await rig.recall(QUESTION, group(777))
            assert recall.trace.arm is Arm.SCAN
            assert recall.hits[0].preview == PEANUTS
            store.go.set()
            await until(lambda: store.inside == 0)
            await asyncio.sleep(0.02)  # and the loop has heard of it


async def test_a_text_that_can_never_be_embedded_is_said_once(tmp_path: Path) -> None:
    async with running_on_vectors(tmp_path, embedder=PickyEmbedder()) as rig:
        await rig.remember(PEANUTS, group(777))
        await rig.until_indexed()
        await rig.remember("有毒的一句", group(777))
        for _ in range(30):
            assert PEANUTS in await rig.texts(QUESTION, group(777))
            await asyncio.sleep(0.01)
        failing = [n for n in rig.notices if n.code is NoticeCode.EMBEDDER_FAILING]
        assert len(failing) == 1


class Overtaken(InMemoryVectorStore):
    """Answers with what it held when it was asked, after something was written into it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()
        self.asked.set()
        self.expected = 0

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        answer = super().query(vector, scope_filter, k)
        self.asked.set()
        for _ in range(1000):
            if self.count() >= self.expected:
                break
            time.sleep(0.01)
        time.sleep(0.05)  # and it is off the list of what is not written yet
        return answer

    def upsert(self, records: Sequence[IndexRecord], vectors: Vectors) -> None:
        self.asked.wait(10)
        super().upsert(records, vectors)


async def test_what_is_written_into_the_index_while_it_searches_is_found(tmp_path: Path) -> None:
    store = Overtaken()
    async with running_on_vectors(tmp_path, store=store) as rig:
        await rig.remember("门禁密码每周换", group(777))
        await rig.until_indexed()
        store.asked.clear()
        store.expected = 2
        await rig.remember(PEANUTS, group(777))
        recall = await rig.recall(QUESTION, group(777))
        assert recall.trace.arm is Arm.DENSE
        assert PEANUTS in {hit.preview for hit in recall.hits}


async def test_twelve_questions_at_once_to_an_index_that_hangs_keep_nobody_from_closing(
    tmp_path: Path,
) -> None:
    store = Stuck()
    settings = with_pace(QUICK, query_seconds=0.02)
    async with running_on_vectors(tmp_path, store=store, settings=settings) as rig:
        await rig.remember(PEANUTS, group(777))
        await rig.until_indexed()
        store.asked = 0  # a draft may have asked for its like
        store.go.clear()
        try:
            asked = [rig.texts(QUESTION, group(777)) for _ in range(12)]
            assert await asyncio.gather(*asked) == [[PEANUTS]] * 12
            assert store.asked <= 3
            async with asyncio.timeout(20):
                await rig.engine.close()
        finally:
            store.go.set()


class Reset(InMemoryVectorStore):
    """A question is under way when another one meets a fault; then it finds everything gone."""

    def __init__(self) -> None:
        super().__init__()
        self.broken = False
        self.resets = 0
        self.discarded: list[str] = []

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        if self.broken:
            self.broken = False
            raise IndexUnavailable("gone", code="server_down")
        before = self.resets
        for _ in range(100):
            if self.resets > before:
                raise IndexUnavailable("no collection is in use", code="closed")
            time.sleep(0.005)
        return super().query(vector, scope_filter, k)

    def reset(self) -> None:
        super().reset()
        self.resets += 1

    def discard(self, reason: str) -> None:
        self.discarded.append(reason)
        super().discard(reason)


async def test_a_question_under_way_while_the_index_is_reset_is_no_second_fault(
    tmp_path: Path,
) -> None:
    store = Reset()
    async with running_on_vectors(tmp_path, store=store) as rig:
        await rig.remember(PEANUTS, group(777))
        await rig.until_indexed()
        for number in range(1, 5):
            slow = asyncio.create_task(rig.texts(QUESTION, group(777)))
            await asyncio.sleep(0.02)
            store.broken = True
            assert await rig.texts(QUESTION, group(777)) == [PEANUTS]
            assert await slow == [PEANUTS]
            await until(lambda number=number: store.resets == number)  # type: ignore[misc]
            await rig.until_indexed()
        causes = {n.params["cause"] for n in rig.notices if n.code is NoticeCode.INDEX_OFF}
        assert causes == {"server_down"}
        assert store.discarded == []


async def test_a_rebuild_that_was_interrupted_is_not_taken_for_complete(tmp_path: Path) -> None:
    disk = Disk()
    async with running_on_vectors(tmp_path, store=InMemoryVectorStore(disk)) as rig:
        for number in range(60):
            await rig.remember(f"第{number}号柜子里是旧书", group(777))
        await rig.until_indexed()
    disk.collections.clear()
    embedder = FakeEmbedder("another")
    embedder.failing_documents = True
    async with running_on_vectors(
        tmp_path, store=InMemoryVectorStore(disk), embedder=embedder
    ) as rig:
        await until(lambda: len(disk.collections) == 1)
        assert (await rig.engine.status()).index is not IndexState.READY
    async with running_on_vectors(
        tmp_path, store=InMemoryVectorStore(disk), embedder=embedder
    ) as rig:
        for _ in range(20):
            await asyncio.sleep(0.01)
            assert (await rig.engine.status()).index is not IndexState.READY
        assert "第7号柜子里是旧书" in await rig.texts("第7号柜子里是旧书", group(777))


async def test_records_that_somebody_else_took_out_come_back(tmp_path: Path) -> None:
    store = InMemoryVectorStore()
    settings = with_pace(QUICK, look_seconds=0.05)
    async with running_on_vectors(tmp_path, store=store, settings=settings) as rig:
        for number in range(6):
            await rig.remember(f"第{number}号柜子里是旧书", group(777))
        await rig.until_indexed()
        (rows,) = store.disk.collections.values()
        rows.clear()
        await until(lambda: store.count() == 6)


async def test_a_worn_collection_is_built_anew_behind(tmp_path: Path) -> None:
    store = Rotten()
    async with running_on_vectors(tmp_path, store=store) as rig:
        stored = [await rig.remember(f"第{number}号柜子", group(777)) for number in range(8)]
        await rig.remember(PEANUTS, group(777))
        await rig.until_indexed()
        for one in stored:
            await rig.engine.service.forget(
                one.memory.memory.memory_id,
                conversation_id=group(777),
                actor=person(1, admin=True),
            )
        await until(lambda: store.discarded == ["worn"])
        await rig.until_indexed()
        assert store.count() == 1
        assert (await rig.recall(QUESTION, group(777))).trace.arm is Arm.DENSE
        assert NoticeCode.INDEX_REBUILT not in said(rig)


async def test_whether_it_is_worn_is_asked_once_after_the_writes_and_again_after_the_next(
    tmp_path: Path,
) -> None:
    store = Rotten()
    async with running_on_vectors(tmp_path, store=store) as rig:
        await until(lambda: store.rests == 1)  # after the opening, too
        await rig.remember(PEANUTS, group(777))
        await until(lambda: store.rests == 2)
        assert store.count() == 1
        await rig.remember("奶奶喜欢豆浆", group(777))
        await until(lambda: store.rests == 3)
        assert store.count() == 2


async def test_a_forgotten_memory_leaves_no_vector_behind(tmp_path: Path) -> None:
    async with running_on_vectors(tmp_path) as rig:
        stored = await rig.remember(PEANUTS, group(777))
        await rig.remember("门禁密码每周换", group(888))
        await rig.until_indexed()
        assert cached_scopes(tmp_path) == ["公司", "家人"]
        await rig.engine.service.forget(
            stored.memory.memory.memory_id, conversation_id=group(777), actor=person(10001)
        )
        async with asyncio.timeout(30):
            while cached_scopes(tmp_path) != ["公司"]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


def cached_scopes(root: Path) -> list[str]:
    """The scope of each vector in the cache."""
    connection = sqlite3.connect(root / "index" / "embeddings.sqlite")
    try:
        rows = connection.execute("SELECT scope FROM vector ORDER BY scope").fetchall()
    finally:
        connection.close()
    return [scope for (scope,) in rows]
