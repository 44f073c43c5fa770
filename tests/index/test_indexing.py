"""The index follows the catalogue, whatever the embedder makes of single texts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import EmbeddingFailed, IndexState, NoticeCode
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.llm_memory.runtime.gc_freeze import GcFreeze
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder, PickyEmbedder
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import InMemoryVectorStore
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, running

pytestmark = pytest.mark.engine


class RestingStore(InMemoryVectorStore):
    """Counts how often nothing was left to write: then it is asked whether it is worn."""

    rests = 0

    def worn(self) -> bool:
        self.rests += 1
        return super().worn()


class ReadSlowly(InMemoryVectorStore):
    """Tells what it holds when it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may, self.began = threading.Event(), threading.Event()
        self.may.set()

    def hashes(self) -> dict[Key, str]:
        self.began.set()
        assert self.may.wait(30)
        return super().hashes()


async def test_an_index_that_is_being_compared_is_not_known_to_be_in_step(tmp_path: Path) -> None:
    store = ReadSlowly()
    async with running(tmp_path, store=store) as rig:
        indexing = rig.engine.rooms.indexing
        await rig.remember("奶奶对花生过敏", group(777))
        await rig.until_indexed()
        assert indexing.in_step
        store.may.clear()
        store.began.clear()
        indexing.recheck()
        assert await asyncio.to_thread(store.began.wait, 30)
        assert not indexing.in_step
        store.may.set()
        await rig.until_indexed()


async def test_one_text_that_cannot_be_embedded_holds_up_no_other(
    tmp_path: Path,
) -> None:
    store = InMemoryVectorStore()
    async with running(tmp_path, store=store, embedder=PickyEmbedder()) as rig:
        for number in range(5):
            await rig.remember(f"第{number}件事", group(777))
        await rig.remember("有毒的一句", group(777))
        for number in range(5, 10):
            await rig.remember(f"第{number}件事", group(777))
        async with asyncio.timeout(30):
            while store.count() < 10:  # noqa: ASYNC110  (the store knows no event)
                await asyncio.sleep(0.01)
        assert "有毒的一句" in await rig.texts("有毒的一句", group(777), limit=20)


async def test_a_text_that_cannot_be_embedded_does_not_keep_the_index_from_rest(
    tmp_path: Path,
) -> None:
    store = RestingStore()
    async with running(tmp_path, store=store, embedder=PickyEmbedder()) as rig:
        async with asyncio.timeout(30):
            while not store.rests:  # noqa: ASYNC110  (the store knows no event)
                await asyncio.sleep(0.01)
            await rig.remember("有毒的一句", group(777))
            await rig.remember("第一件事", group(777))
            store.rests = 0
            while not store.rests or not store.count():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        standing = {notice.code for notice in (await rig.engine.status()).notices}
        assert NoticeCode.EMBEDDER_FAILING not in standing
        assert "有毒的一句" in await rig.texts("有毒的一句", group(777), limit=20)
        await rig.remember("第二件事", group(777))
        assert "第二件事" in await rig.texts("第二件事", group(777), limit=20)


class EnglishOnly(FakeEmbedder):
    """Cannot read a query with Han characters, and says so."""

    async def embed_query(self, text: str) -> Vector:
        if not text.isascii():
            raise EmbeddingFailed("language: this model cannot tell zh texts apart")
        return await super().embed_query(text)


async def test_a_query_the_model_cannot_read_is_scanned_and_no_fault_of_the_model(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, embedder=EnglishOnly()) as rig:
        await rig.remember("奶奶对花生过敏", group(777))
        await rig.until_indexed()
        assert await rig.texts("奶奶花生过敏吗", group(777)) == ["奶奶对花生过敏"]
        assert NoticeCode.EMBEDDER_FAILING not in {notice.code for notice in rig.notices}


async def test_a_text_that_cannot_be_embedded_does_not_keep_a_new_index_from_use(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, follow=False) as rig:
        for number in range(7):
            await rig.remember(f"第{number}件事", group(777))
        await rig.remember("有毒的一句", group(777))
    async with running(tmp_path, embedder=PickyEmbedder()) as rig:
        async with asyncio.timeout(30):
            while (await rig.engine.status()).index is not IndexState.READY:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert "有毒的一句" in await rig.texts("有毒的一句", group(777), limit=20)
        assert "第3件事" in await rig.texts("第3件事", group(777), limit=20)


class SlowToDelete(InMemoryVectorStore):
    """Holds what it is to delete until it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may = threading.Event()

    def delete(self, keys: Sequence[Key]) -> None:
        self.may.wait(30)
        super().delete(keys)


async def test_what_is_forgotten_counts_as_leaving_until_the_index_has_let_it_go(
    tmp_path: Path,
) -> None:
    store = SlowToDelete()
    async with running(tmp_path, store=store) as rig:
        memory_id = (await rig.remember("奶奶对花生过敏", group(777))).memory.memory.memory_id
        await rig.until_indexed()
        service = rig.engine.service
        await service.forget(memory_id, conversation_id=group(777), actor=person(10001))
        status = await rig.engine.status()
        assert (status.total, status.backlog, status.leaving) == (0, 0, 1)
        assert await rig.texts("奶奶对花生过敏", group(777)) == []
        assert store.count() == 1
        store.may.set()
        await rig.until_indexed()
        assert store.count() == 0


async def test_what_a_start_finds_to_index_is_set_apart_from_the_collector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred thousand keys on a list cost a tenth of a second each time they are looked at."""
    async with running(tmp_path, store=InMemoryVectorStore()) as rig:
        for number in range(5):
            await rig.remember(f"第{number}件事", group(777))
    told: list[int] = []
    monkeypatch.setattr(GcFreeze, "grow", lambda _, count: told.append(count))
    async with running(tmp_path, store=InMemoryVectorStore()) as rig:
        await rig.until_indexed()
    assert told.count(5) == 1  # read from the files
    assert told.count(1) >= 5  # put on the list
