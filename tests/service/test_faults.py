"""What the engine survives: an opening that is slow or given up, a close or a cancelled caller in
the middle of a write, odd and enormous questions, an emergency. What fails in it stands in
tests/laws/test_faults.py and tests/composition/test_engine.py."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from astrbot_plugin_scoped_memory.core.host.bot import clock_of
from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory import (
    Changed,
    ConversationId,
    Engine,
    EngineClosed,
    EnginePaths,
    EngineSettings,
    Refused,
    StoredMemory,
    build_engine,
    local_now,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector
from astrbot_plugin_scoped_memory.llm_memory.recall import find
from astrbot_plugin_scoped_memory.llm_memory.recall.question import MAX_QUERY
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import DirectoryLock
from astrbot_plugin_scoped_memory.llm_memory.sync import reconciler
from astrbot_plugin_scoped_memory.llm_memory.vault.scan import VaultScan
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    group,
    person,
    private,
    running,
    running_on_vectors,
)

pytestmark = [pytest.mark.engine, pytest.mark.process, pytest.mark.astrbot]

HERE, OFFICE, MING = group(777), group(888), person(10001)
PEANUTS, QUESTION = "奶奶对花生过敏", "奶奶能吃花生吗"
CODE = "公司的门禁密码每周换"


def family(root: Path) -> Path:
    """The family's folder."""
    return root / "memory" / "scopes" / "家人"


async def found(engine: Engine, query: str, where: ConversationId) -> list[str]:
    recall = await engine.service.recall(query, conversation_id=where, limit=3, token_budget=500)
    return [hit.preview for hit in recall.hits]


@pytest.mark.parametrize("waits", [False, True])
async def test_while_a_scope_is_read_recall_answers_from_what_has_been_read_or_waits_a_moment(
    tmp_path: Path, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as rig:
        await rig.remember(PEANUTS, HERE)
        await rig.remember(CODE, OFFICE)
    reading, go_on, see = threading.Event(), threading.Event(), VaultScan.see

    def slow(scan: VaultScan, places: Any, *args: Any, **kwargs: Any) -> Any:
        places = [*places]
        if any(place.scope.name == "家人" for place in places):
            reading.set()
            go_on.wait(30)
        return see(scan, places, *args, **kwargs)

    monkeypatch.setattr(VaultScan, "see", slow)
    monkeypatch.setattr(reconciler, "_FILES", 1)
    settings = EngineSettings(scope_map=MAP)
    panel = replace(settings, load_seconds=30) if waits else settings
    engine = build_engine(EnginePaths.under(tmp_path), panel)
    opening = asyncio.create_task(engine.open())
    asked = asyncio.create_task(found(engine, QUESTION, HERE)) if waits else None
    try:
        assert await asyncio.to_thread(reading.wait, 30)
        if asked is None:
            await until_true(lambda: bool(engine.parts.catalogue.counts()))
            assert await found(engine, "门禁密码换了吗", OFFICE) == [CODE]
            start = await engine.service.begin_turn(
                QUESTION, conversation_id=HERE, actor=MING, seconds=0.2, limit=3, token_budget=100
            )
            assert start.view, "a short deadline is not spent on the files alone"
        assert not opening.done()
        assert asked is None or not asked.done()
    finally:
        go_on.set()
    await opening
    assert await (asked or found(engine, QUESTION, HERE)) == [PEANUTS]
    await engine.close()


async def test_a_cancelled_opening_leaves_nothing_owned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, go_on, acquire = threading.Event(), threading.Event(), DirectoryLock.acquire

    def slow(lock: DirectoryLock) -> None:
        entered.set()
        go_on.wait(30)
        acquire(lock)

    with monkeypatch.context() as patch:
        patch.setattr(DirectoryLock, "acquire", slow)
        engine = build_engine(EnginePaths.under(tmp_path), EngineSettings())
        task = asyncio.create_task(engine.open())
        await asyncio.to_thread(entered.wait, 30)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        closing = asyncio.create_task(engine.close())
        go_on.set()
        await closing
    async with running(tmp_path) as rig:
        await rig.remember(PEANUTS, HERE)


@pytest.mark.parametrize(
    "zone", ["Beijing", "UTC+8", "Mars/Phobos", "", None, 8, "../etc", "Asia/Shanghai"]
)
def test_a_time_zone_that_nobody_knows_is_the_machines(zone: object) -> None:
    clock = clock_of(SimpleNamespace(get_config=lambda: {"timezone": zone}))
    known = ZoneInfo(zone) if zone == "Asia/Shanghai" else local_now().tzinfo
    assert clock().tzinfo == known


# Closing, and callers that go away


async def test_a_closed_engine_answers_with_an_error_and_writes_nothing_more(
    tmp_path: Path,
) -> None:
    async with running_on_vectors(tmp_path) as rig:
        memory_id = (await rig.remember(PEANUTS, HERE)).memory.memory.memory_id
        service = rig.engine.service
        await rig.forget(memory_id, HERE, MING)
        late = asyncio.ensure_future(rig.restore(memory_id, HERE, MING))
        await asyncio.sleep(0)
        await rig.engine.close()
        for ask in (rig.recall(QUESTION, HERE), rig.tell("x1", HERE)):
            with pytest.raises(EngineClosed):
                await ask
        written = sorted(p.read_bytes() for p in family(tmp_path).rglob("*.md"))
        (outcome,) = await asyncio.gather(late, return_exceptions=True)
        assert isinstance(outcome, EngineClosed | Changed), "it began before the close, or never"
        start = await service.begin_turn(
            QUESTION, conversation_id=HERE, actor=MING, seconds=1.0, limit=3, token_budget=100
        )
        assert start.contact is not None
        assert await start.contact is None
        assert sorted(p.read_bytes() for p in family(tmp_path).rglob("*.md")) == written


async def test_a_write_whose_caller_goes_away_is_finished(tmp_path: Path) -> None:
    async with running_on_vectors(tmp_path) as rig:
        calls = (rig.tell(f"第{number}件小事", HERE) for number in range(20))
        tasks = list(map(asyncio.ensure_future, calls))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    async with running_on_vectors(tmp_path) as rig:
        assert (await rig.engine.status()).by_scope == {"家人": 20}


# Questions and words


async def test_whose_words_may_become_instructions(tmp_path: Path) -> None:
    alone = {**MAP, "aiocqhttp:FriendMessage:1001": "小明的"}
    async with running_on_vectors(tmp_path, alone) as rig:
        for number, (where, who, is_trusted) in enumerate((
            (HERE, person(5, admin=True), True),
            (private(1001), person(1001), True),  # a private chat with a scope of its own
            (HERE, person(1001), False),
            (private(1002), person(1002), False),
            (private(3003), person(3003), False),
            (private(1001), person(1002), False),
            (private(1001), replace(person(1001), person=""), False),
            (replace(private(1001), peer=None), person("None"), False),
        )):  # fmt: skip
            stored = (await rig.remember(f"以后都用{number}号文风回答", where, who)).memory
            assert stored.memory.provenance.trusted is is_trusted is not stored.memory.quoted
            assert (stored.path == "instructions.md") is is_trusted


async def test_a_small_scope_does_not_starve_behind_a_busy_public_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "SCAN_LIMIT", 20)
    async with running_on_vectors(tmp_path, follow=False) as rig:
        await rig.remember(PEANUTS, HERE)
        for number in range(30):
            await rig.remember(f"公共的第{number}件小事", group(999))
        assert PEANUTS in await rig.texts(QUESTION, HERE)


async def test_no_query_makes_recall_fail_and_of_a_long_one_both_ends_are_looked_for(
    tmp_path: Path,
) -> None:
    odd = ["", " ", "\u200b", "\ud800", "奶奶\udfff能吃花生吗", "？？", "x" * 200_000, "\0" * 50]
    embedder, asked = FakeEmbedder(), list[str]()
    embed = embedder.embed_query

    async def heard(text: str) -> Vector:
        asked.append(text)
        return await embed(text)

    embedder.embed_query = heard  # type: ignore[method-assign]
    async with running_on_vectors(tmp_path, embedder=embedder) as rig:
        await rig.remember(PEANUTS, HERE)
        for _ in range(2):
            for query in odd:
                assert await rig.texts(query, HERE) == ([PEANUTS] if "花生" in query else [])
            await rig.until_indexed()
        await rig.recall("开头" + "无关的话" * 50_000 + "结尾", HERE)
    assert len(asked[-1]) <= MAX_QUERY + 1
    assert (asked[-1][:2], asked[-1][-2:]) == ("开头", "结尾")


async def test_the_emergency_downgrade_reads_all_and_learns_nothing(tmp_path: Path) -> None:
    async with running_on_vectors(tmp_path) as rig:
        stored = await rig.remember(PEANUTS, HERE)
    hidden = tmp_path / "memory" / "scopes" / "quarantine"
    hidden.mkdir()
    text = (family(tmp_path) / "preferences.md").read_text("utf-8").replace("奶奶", "外婆")
    (hidden / "preferences.md").write_text(text, encoding="utf-8")
    off = EngineSettings(scope_filter_enabled=False)
    async with running_on_vectors(tmp_path, settings=off) as rig:
        await rig.until_indexed()
        assert "scope_filter_off" in {notice.code for notice in rig.notices}
        assert await rig.texts("花生过敏", OFFICE) == [PEANUTS]
        pointer = stored.memory.pointer
        expanded = await rig.engine.service.expand(pointer, conversation_id=OFFICE)
        assert isinstance(expanded, StoredMemory)
        assert await rig.tell("新的一件事", HERE) == Refused("learning_paused")
    async with running_on_vectors(tmp_path) as rig:
        assert await rig.texts("花生过敏", OFFICE) == []
