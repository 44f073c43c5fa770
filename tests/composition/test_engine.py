"""What nobody expected in one part of an engine costs neither the others nor the next start."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory import (
    Engine,
    EnginePaths,
    IndexState,
    NoticeCode,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.log import logger
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, group, running

pytestmark = pytest.mark.engine

PEANUTS, QUESTION = "奶奶对花生过敏", "奶奶能吃花生吗"
ODD = "something that nobody thought of"


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """What the log has said."""
    said: list[str] = []
    sink = logger.add(said.append, level="ERROR")
    yield said
    if sink is not None:
        logger.remove(sink)


def told(engine: Engine, lines: list[str]) -> bool:
    """The owner is told of it, and the log has the way to it."""
    notices = [one for one in engine.notices if one.code is NoticeCode.PART_FAILED]
    logged = any("Traceback" in line and ODD in line for line in lines)
    return logged and [one.params["detail"] for one in notices] == [repr(ODD)]


def breaks(monkeypatch: pytest.MonkeyPatch, engine: Engine, row: str, name: str) -> None:
    """A method of a part raises what no signature promises."""
    part = getattr(engine.parts, row)
    is_async = asyncio.iscoroutinefunction(getattr(part, name))

    def fail(*_: Any, **__: Any) -> None:
        raise KeyError(ODD)

    async def fail_later(*_: Any, **__: Any) -> None:
        fail()

    monkeypatch.setattr(part, name, fail_later if is_async else fail)


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("former", "open"),
        ("bylines", "open"),
        ("uses", "load"),
        ("loop_file", "open"),
        ("sleep", "load"),
        ("reflection", "follow"),
        ("souls", "load"),
        ("recorder", "recover"),
        ("migrations", "open"),
    ],
)
async def test_what_memories_do_not_need_stops_no_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], row: str, name: str
) -> None:
    engine = build_engine(EnginePaths.under(tmp_path), QUICK, replacing={"bundled": None})
    breaks(monkeypatch, engine, row, name)
    try:
        await engine.open()
        assert told(engine, lines)
        assert (await engine.status()).ready
    finally:
        await engine.close()
    async with running(tmp_path) as rig:
        await rig.remember(PEANUTS, group(777))


async def test_an_opening_that_memories_need_is_told_with_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str]
) -> None:
    engine = build_engine(EnginePaths.under(tmp_path), QUICK, replacing={"bundled": None})
    breaks(monkeypatch, engine, "corrected", "load")
    try:
        with pytest.raises(Exception, match=ODD) as raised:
            await engine.open()
        assert getattr(raised.value, "code", "") == NoticeCode.PART_FAILED
        assert told(engine, lines)
    finally:
        await engine.close()


@pytest.mark.parametrize(
    "row", ["lexical", "indexing", "embedder_trust", "uses", "follower", "migrations"]
)
async def test_what_runs_behind_is_seen_to_die_and_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], row: str
) -> None:
    engine = build_engine(EnginePaths.under(tmp_path), QUICK, replacing={"bundled": None})
    part, states = getattr(engine.parts, row), list[object]()
    run = part.run

    async def runs(*args: Any) -> None:
        states.append(getattr(part, "state", None))
        if len(states) == 1:
            part.state = IndexState.READY
            raise KeyError(ODD)
        await run(*args)

    monkeypatch.setattr(part, "run", runs)
    behind: list[asyncio.Task[None]] = []
    try:
        await engine.open()
        works = engine.run(FakeEmbedder()), engine.follow(), engine.migrate()
        behind = [asyncio.create_task(work) for work in works]
        async with asyncio.timeout(30):
            await until_true(lambda: len(states) > 1)
        assert told(engine, lines)
        if row in ("lexical", "indexing"):
            assert states[1] is IndexState.OFF
    finally:
        for task in behind:
            task.cancel()
        await asyncio.gather(*behind, return_exceptions=True)
        await engine.close()


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("sleep", "close"),
        ("life", "close"),
        ("migrations", "close"),
        ("intake", "close"),
        ("uses", "write"),
        ("queue", "close"),
        ("indexing", "close"),
        ("files", "close"),
        ("manager", "clear"),
        ("primer", "clear"),
        ("catalogue", "release"),
    ],
)
async def test_a_step_of_a_close_that_fails_leaves_the_folder_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], row: str, name: str
) -> None:
    engine = build_engine(EnginePaths.under(tmp_path), QUICK, replacing={"bundled": None})
    await engine.open()
    breaks(monkeypatch, engine, row, name)
    await engine.close()
    monkeypatch.undo()
    assert told(engine, lines)
    async with running(tmp_path) as rig:
        await rig.remember(PEANUTS, group(777))
        assert await rig.texts(QUESTION, group(777)) == [PEANUTS]
    await engine.close()


async def test_a_close_whose_caller_goes_away_is_finished(tmp_path: Path) -> None:
    engine = build_engine(EnginePaths.under(tmp_path), QUICK, replacing={"bundled": None})
    await engine.open()
    closing = asyncio.create_task(engine.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.gather(closing, return_exceptions=True)
    await engine.close()
    async with running(tmp_path) as rig:
        await rig.remember(PEANUTS, group(777))


async def test_a_walk_that_dies_within_what_runs_behind_is_seen_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str]
) -> None:
    engine = build_engine(EnginePaths.under(tmp_path), QUICK, replacing={"bundled": None})
    store, asked = engine.parts.migration_store, list[int]()
    jobs = store.jobs

    def odd() -> Any:
        asked.append(1)
        if len(asked) == 1:
            raise KeyError(ODD)
        return jobs()

    async with engine:
        monkeypatch.setattr(store, "jobs", odd)
        migrating = asyncio.create_task(engine.migrate())
        async with asyncio.timeout(20):
            await until_true(lambda: len(asked) > 1)
        assert told(engine, lines)
        migrating.cancel()
        await asyncio.gather(migrating, return_exceptions=True)
