"""A whole engine and a real Chroma server that comes and goes, is too slow, or has
somebody else's collection under our name: the bot answers and remembers, and says why."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import IndexPace, NoticeCode
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.index.vector.server import DEADLINE, ChromaServer
from astrbot_plugin_scoped_memory.llm_memory.index.vector.vector_store import ChromaVectorStore
from astrbot_plugin_scoped_memory.llm_memory.index.vector.write_pace import WritePace
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    group,
    running_on_vectors,
    with_pace,
)
from astrbot_plugin_scoped_memory.tests.support.indexed import until_said
from astrbot_plugin_scoped_memory.tests.support.servers.chroma_server import (
    Reply,
    ServerProcess,
    standing_before,
)

pytestmark = [pytest.mark.engine, pytest.mark.process]

PEANUTS, QUESTION = "奶奶对花生过敏", "奶奶能吃花生吗"
OWNER = "0123456789abcdef" * 2
AS_SHIPPED = with_pace(QUICK, query_seconds=IndexPace().query_seconds)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    """Not started."""
    process = ServerProcess(tmp_path / "server")
    yield process
    process.kill()


def store_at(url: str, *, seconds: float = DEADLINE) -> ChromaVectorStore:
    """As bots have it."""
    connection = ChromaServer(url, {}, lambda: OWNER, seconds=seconds)
    return ChromaVectorStore(connection, pace=WritePace(long=1.0))


async def answered(rig: Rig) -> tuple[Arm, list[str]]:
    """Who answers the question, and with what first; somebody else hears nothing."""
    recall = await rig.recall(QUESTION, group(777))
    assert await rig.texts(QUESTION, group(888)) == []
    return recall.trace.arm, [hit.preview for hit in recall.hits[:1]]


async def without(rig: Rig, cause: str) -> None:
    """The bot remembers and answers, and says why it does without the index."""
    await rig.remember(PEANUTS, group(777))
    assert (await until_said(rig, NoticeCode.INDEX_OFF))["cause"] == cause
    assert await answered(rig) == (Arm.SCAN, [PEANUTS])


async def with_it(rig: Rig) -> None:
    """The index has caught up and answers by itself; nothing is left to be said."""
    await rig.until_indexed()
    assert await answered(rig) == (Arm.DENSE, [PEANUTS])
    codes = {notice.code for notice in (await rig.engine.status()).notices}
    assert NoticeCode.INDEX_OFF not in codes


async def test_a_server_that_comes_and_goes_and_comes_back_costs_no_memory(
    tmp_path: Path, server: ServerProcess
) -> None:
    async with running_on_vectors(tmp_path / "data", store=store_at(server.url)) as rig:
        await without(rig, "server_down")
        await asyncio.to_thread(server.start)
        await with_it(rig)
        await asyncio.to_thread(server.kill)
        await rig.remember("小明的生日是五月三日", group(777))
        assert (await until_said(rig, NoticeCode.INDEX_OFF))["cause"] == "server_down"
        assert "小明的生日是五月三日" in await rig.texts("小明的生日是哪天", group(777))
        await asyncio.to_thread(server.start)
        await rig.until_indexed()
        found = await rig.recall("小明的生日是哪天", group(777))
        assert (found.trace.arm, found.hits[0].preview) == (Arm.DENSE, "小明的生日是五月三日")
        await with_it(rig)
        assert not (tmp_path / "data/index/chroma").exists()  # nothing is built beside it


class Door:
    """Lets through late, as long as it is ``slow``."""

    def __init__(self, seconds: float) -> None:
        self.slow = threading.Event()
        self.over = threading.Event()
        self.let_through = 0
        self._seconds = seconds

    def __call__(self, _: BaseHTTPRequestHandler) -> Reply | None:
        if self.slow.is_set():
            self.over.wait(self._seconds)
            self.let_through += 1
        return None

    def open(self) -> None:
        """From now on at once, and whoever waits."""
        self.slow.clear()
        self.over.set()


async def test_no_turn_waits_for_a_slow_server(tmp_path: Path, server: ServerProcess) -> None:
    await asyncio.to_thread(server.start)
    door = Door(60)
    with standing_before(server.port, door) as url:
        store = store_at(url, seconds=60)
        async with running_on_vectors(tmp_path, store=store, settings=AS_SHIPPED) as rig:
            await rig.remember(PEANUTS, group(777))
            await rig.until_indexed()
            door.slow.set()
            try:
                assert await answered(rig) == (Arm.SCAN, [PEANUTS])
                await rig.remember("奶奶喜欢豆浆", group(777))
                assert "奶奶喜欢豆浆" in await rig.texts("奶奶喜欢豆浆", group(777))
                assert (await until_said(rig, NoticeCode.INDEX_OFF))["cause"] == "hangs"
                assert door.let_through == 0  # all this before the first of its answers
            finally:
                door.open()
            await rig.until_indexed()
            assert store.count() == 2


@asynccontextmanager
async def theirs(server: ServerProcess, name: str) -> AsyncIterator[list[str]]:
    """Somebody else's collection; its documents as they are at the end."""
    import chromadb

    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.HttpClient("127.0.0.1", server.port, settings=settings)
    collection = client.create_collection(name, embedding_function=None)
    collection.add(ids=["x"], embeddings=[[1.0] * 3], documents=["theirs"])
    documents: list[str] = []
    try:
        yield documents
        documents += collection.get()["documents"] or []
        client.delete_collection(name)
    finally:
        client.close()


async def test_somebody_elses_collection_under_our_name_is_done_without_until_it_is_gone(
    tmp_path: Path, server: ServerProcess
) -> None:
    await asyncio.to_thread(server.start)
    store = store_at(server.url)
    name = store.name_for(Fingerprint("fake", 256, "1"))
    async with (
        theirs(server, name) as documents,
        running_on_vectors(tmp_path / "data", store=store) as rig,
    ):
        await without(rig, "foreign_collection")
    assert documents == ["theirs"]
    async with running_on_vectors(tmp_path / "data", store=store_at(server.url)) as rig:
        await with_it(rig)
