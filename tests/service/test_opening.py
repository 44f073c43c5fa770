"""An engine that is opening, closing, or asked with something enormous."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.core.host.bot_facts import clock_of
from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    Engine,
    EnginePaths,
    EngineSettings,
    build_engine,
    local_now,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector
from astrbot_plugin_scoped_memory.llm_memory.recall.question import MAX_QUERY
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import DirectoryLock
from astrbot_plugin_scoped_memory.llm_memory.sync import reconciler
from astrbot_plugin_scoped_memory.llm_memory.vault.scan import VaultScan
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.support.engines import MAP, group, private, running

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

PEANUTS, CODE = "奶奶对花生过敏", "公司的门禁密码每周换"


class SlowVault:
    """The files of 家人 are read when ``go_on`` is set; ``reading``: they are asked for."""

    def __init__(self) -> None:
        self.reading, self.go_on = threading.Event(), threading.Event()


@pytest_asyncio.fixture
async def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlowVault:
    """With a memory in each of two scopes."""
    async with running(tmp_path) as rig:
        await rig.remember(PEANUTS, group(777))
        await rig.remember(CODE, group(888))
    vault, see = SlowVault(), VaultScan.see

    def held(scan: VaultScan, places: Any, *args: Any, **kwargs: Any) -> Any:
        if any(place.scope.name == "家人" for place in places):
            vault.reading.set()
            vault.go_on.wait(30)
        return see(scan, places, *args, **kwargs)

    monkeypatch.setattr(VaultScan, "see", held)
    monkeypatch.setattr(reconciler, "_FILES", 1)
    return vault


async def found(engine: Engine, query: str, where: ConversationId) -> list[str]:
    recall = await engine.service.recall(query, conversation_id=where, limit=3, token_budget=500)
    return [hit.preview for hit in recall.hits]


async def test_recall_answers_from_what_has_been_read_while_the_rest_is_read(
    tmp_path: Path, slow: SlowVault
) -> None:
    engine = build_engine(EnginePaths.under(tmp_path), EngineSettings(scope_map=MAP))
    opening = asyncio.create_task(engine.open())
    try:
        assert await asyncio.to_thread(slow.reading.wait, 30)
        await until_true(lambda: bool(engine.parts.catalogue.counts()))
        assert await found(engine, "门禁密码换了吗", group(888)) == [CODE]
        assert not opening.done()
    finally:
        slow.go_on.set()
    await opening
    assert await found(engine, "奶奶花生过敏吗", private(1002)) == [PEANUTS]
    await engine.close()


async def test_recall_waits_a_moment_for_a_vault_that_is_being_read(
    tmp_path: Path, slow: SlowVault
) -> None:
    settings = EngineSettings(scope_map=MAP, load_seconds=30)
    engine = build_engine(EnginePaths.under(tmp_path), settings)
    opening = asyncio.create_task(engine.open())
    asked = asyncio.create_task(found(engine, "奶奶花生过敏吗", group(777)))
    assert await asyncio.to_thread(slow.reading.wait, 30)
    assert not asked.done()
    slow.go_on.set()
    assert await asked == [PEANUTS]
    await opening
    await engine.close()


async def test_a_cancelled_opening_leaves_nothing_owned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, go_on = threading.Event(), threading.Event()
    acquire = DirectoryLock.acquire

    def slow(lock: DirectoryLock) -> None:
        entered.set()
        go_on.wait(30)
        acquire(lock)

    monkeypatch.setattr(DirectoryLock, "acquire", slow)
    engine = build_engine(EnginePaths.under(tmp_path), EngineSettings())
    opening = asyncio.create_task(engine.open())
    await asyncio.to_thread(entered.wait, 30)
    opening.cancel()
    await asyncio.gather(opening, return_exceptions=True)
    closing = asyncio.create_task(engine.close())
    go_on.set()
    await closing
    monkeypatch.undo()
    async with running(tmp_path) as rig:
        await rig.remember(PEANUTS, group(777))


async def test_of_a_long_message_the_beginning_and_the_end_are_looked_for(tmp_path: Path) -> None:
    embedder, asked = FakeEmbedder(), list[str]()
    embed = embedder.embed_query

    async def heard(text: str) -> Vector:
        asked.append(text)
        return await embed(text)

    embedder.embed_query = heard  # type: ignore[method-assign]
    async with running(tmp_path, embedder=embedder) as rig:
        await rig.until_indexed()
        await rig.recall("开头" + "无关的话" * 50_000 + "结尾", group(777))
    assert len(asked[-1]) <= MAX_QUERY + 1
    assert (asked[-1][:2], asked[-1][-2:]) == ("开头", "结尾")


def test_a_known_time_zone_is_used_and_one_that_nobody_knows_is_the_machines() -> None:
    config = dict[str, object]()
    clock = clock_of(SimpleNamespace(get_config=lambda: config))
    for zone in ("Beijing", "UTC+8", "Mars/Phobos", "", None, 8, "../etc"):
        config["timezone"] = zone
        assert clock().tzinfo is local_now().tzinfo
    for known in ("Asia/Shanghai", "America/New_York"):
        config["timezone"] = known
        assert clock().tzinfo == ZoneInfo(known)
