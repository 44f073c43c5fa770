"""A whole engine whose index is a server that goes and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Engine,
    EnginePaths,
    EngineSettings,
    IndexPace,
    IndexState,
    MemoryDraft,
    Notice,
    NoticeCode,
    Stored,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.llm_memory.models.status import EngineStatus
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.trust import Cohort, Trust
from astrbot_plugin_scoped_memory.llm_memory.recall.trust_file import JsonTrustBook
from astrbot_plugin_scoped_memory.llm_memory.text.language import Language
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.support.engines import group, person
from astrbot_plugin_scoped_memory.tests.support.servers.chroma_server import ServerProcess

pytestmark = [pytest.mark.engine, pytest.mark.process]

HERE = group(777)
PACE = IndexPace(pause_seconds=0.0, idle_seconds=0.1, retry_seconds=(0.1,), query_seconds=30.0)


async def until(engine: Engine, reached: Callable[[EngineStatus], bool]) -> None:
    """Wait for a status."""
    async with asyncio.timeout(90):
        while True:
            if reached(await engine.status()):
                return
            await asyncio.sleep(0.02)


def caught_up(status: EngineStatus) -> bool:
    ready = status.index is IndexState.READY and status.words is IndexState.READY
    return ready and not status.backlog


async def test_a_server_that_goes_and_comes_back_costs_no_memory(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "server")
    await asyncio.to_thread(server.start)
    notices: list[Notice] = []
    settings = EngineSettings(chroma_url=server.url, pace=PACE)
    paths = EnginePaths.under(tmp_path / "data")
    engine = build_engine(paths, settings, on_notice=notices.append)

    async def remember(text: str) -> None:
        draft = MemoryDraft(text, actor=person(10001))
        outcome = await engine.service.remember(draft, conversation_id=HERE)
        assert isinstance(outcome, Stored)

    async def best(query: str) -> tuple[str, Arm]:
        found = await engine.service.recall(query, conversation_id=HERE, limit=3, token_budget=1000)
        return found.hits[0].preview, found.trace.arm

    run = None
    try:
        await engine.open()
        embedder = FakeEmbedder()
        # Its words are known better: here it is to be asked all the same.
        trusted = Trust(
            dict.fromkeys(Language, 1.0),
            dict.fromkeys(Language, Cohort((0.0,) * embedder.dim, 0.1)),
        )
        JsonTrustBook(paths.index / "trust.json").write(await embedder.prepare(), trusted)
        run = asyncio.create_task(engine.run(embedder))
        await remember("奶奶对花生过敏")
        await until(engine, caught_up)
        assert not (paths.index / "chroma").exists()  # nothing is built here beside it
        assert await best("奶奶对什么过敏") == ("奶奶对花生过敏", Arm.HYBRID)

        await asyncio.to_thread(server.kill)
        await remember("小明的生日是五月三日")
        await until(engine, lambda status: status.index is IndexState.OFF)
        assert await best("小明的生日是哪天") == ("小明的生日是五月三日", Arm.LEXICAL)
        assert await best("奶奶对什么过敏") == ("奶奶对花生过敏", Arm.LEXICAL)
        off = [notice for notice in notices if notice.code is NoticeCode.INDEX_OFF]
        assert {notice.params["cause"] for notice in off} == {"server_down"}

        await asyncio.to_thread(server.start)
        await until(engine, caught_up)
        assert await best("小明的生日是哪天") == ("小明的生日是五月三日", Arm.HYBRID)
        assert NoticeCode.INDEX_OFF not in {
            notice.code for notice in (await engine.status()).notices
        }
    finally:
        if run is not None:
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)
        await engine.close()
        await asyncio.to_thread(server.kill)
