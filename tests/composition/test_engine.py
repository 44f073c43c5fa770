"""What nobody expected in one part of an engine costs neither the others nor the next start."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import cached_property, partial
from inspect import isclass, signature
from pathlib import Path
from typing import Any, get_type_hints
from unittest.mock import Mock

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory import (
    Engine,
    EngineOff,
    EnginePaths,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.log import logger
from astrbot_plugin_scoped_memory.llm_memory.service.parts import taken
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, group, running

pytestmark = pytest.mark.engine

PEANUTS = "奶奶对花生过敏"
ODD = "something that nobody thought of"


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """What the log has said."""
    said: list[str] = []
    sink = logger.add(said.append, level="ERROR")
    yield said
    if sink is not None:
        logger.remove(sink)


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    """Not opened yet; closed behind the test."""
    made = build_engine(EnginePaths.under(tmp_path), QUICK, replacing={"bundled": None})
    yield made
    await made.close()


def told(engine: Engine, lines: list[str]) -> bool:
    """The owner is told of it, and the log has the way to it."""
    notices = [one for one in engine.notices if one.code == "part_failed"]
    logged = any("Traceback" in line and ODD in line for line in lines)
    return logged and [one.params["detail"] for one in notices] == [repr(ODD)]


def breaks(monkeypatch: pytest.MonkeyPatch, engine: Engine, method: str) -> None:
    """A method of a part raises what no signature promises."""
    row, name = method.split(".")
    monkeypatch.setattr(getattr(engine.parts, row), name, Mock(side_effect=KeyError(ODD)))


async def works(root: Path) -> None:
    """Another engine opens the folder, keeps a memory and finds it."""
    async with running(root) as rig:
        await rig.remember(PEANUTS, group(777))
        assert await rig.texts("奶奶能吃花生吗", group(777)) == [PEANUTS]


def test_each_part_is_given_what_its_constructor_says(engine: Engine) -> None:
    checked = 0
    rows = [one for one in vars(type(engine.parts)).values() if isinstance(one, cached_property)]
    for make in (row.func for row in rows if isinstance(row.func, partial)):
        kind, given = make.args
        takes = taken(kind, given)
        left_out = signature(kind).parameters.keys() - takes
        assert not [one for one in left_out if hasattr(engine.parts, one.lstrip("_"))], kind
        try:
            hints = get_type_hints(kind.__init__)
        except NameError:  # it imports a type for mypy alone
            continue
        for name, take in takes.items():
            hint, part = hints[name], take(engine.parts)
            if isclass(hint) and not getattr(hint, "_is_protocol", False) and part is not None:
                assert isinstance(part, hint), f"{kind.__name__}.{name} is {part}"
                checked += 1
    assert checked > 80


@pytest.mark.parametrize(
    "method",
    [
        "former.open", "bylines.open", "uses.load", "loop_file.open", "sleep.load",
        "reflection.follow", "souls.follow", "recorder.recover", "migrations.open",
        "sleep.close", "life.close", "migrations.close", "uses.write", "indexing.close",
        "files.close", "catalogue.release",
    ],
)  # fmt: skip
async def test_what_memories_do_not_need_stops_neither_an_opening_nor_a_close(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], method: str
) -> None:
    breaks(monkeypatch, engine, method)
    await engine.open()
    assert (await engine.status()).ready
    await engine.close()
    monkeypatch.undo()
    assert told(engine, lines)
    await works(tmp_path)


@pytest.mark.parametrize("method", ["corrected.load", "vault.inhabited", "reconciler.load"])
async def test_an_opening_that_memories_need_is_told_to_whoever_waits(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, lines: list[str], method: str
) -> None:
    breaks(monkeypatch, engine, method)
    waiting = asyncio.create_task(engine.service.newest(conversation_id=group(777), limit=3))
    with pytest.raises(EngineOff) as raised:
        await engine.open()
    assert raised.value.code == "part_failed"
    async with asyncio.timeout(30):
        with pytest.raises(EngineOff):
            await waiting
    assert not (await engine.status()).ready
    assert told(engine, lines)


@pytest.mark.parametrize(
    "method",
    [
        "lexical.follow", "indexing.run", "trust.run", "uses.run", "follower.run",
        "migrations.run", "migration_store.jobs",
    ],
)  # fmt: skip
async def test_what_runs_behind_is_seen_to_die_and_begins_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, lines: list[str], method: str
) -> None:
    at_work = method == "migration_store.jobs"  # an opening asks for them, too
    if at_work:
        await engine.open()
    part, states = getattr(engine.parts, method.split(".")[0]), list[object]()
    goes_on = getattr(part, method.split(".")[1])

    def runs(*args: Any) -> Any:
        states.append(getattr(part, "state", None))
        if len(states) == 1:
            part.state = "ready"
            raise KeyError(ODD)
        return goes_on(*args)

    monkeypatch.setattr(part, method.split(".")[1], runs)
    if not at_work:
        await engine.open()
    works = engine.run(FakeEmbedder()), engine.follow(), engine.migrate()
    behind = [asyncio.create_task(work) for work in works]
    try:
        async with asyncio.timeout(30):
            await until_true(lambda: len(states) > 1)
        assert told(engine, lines)
    finally:
        for task in behind:
            task.cancel()
        await asyncio.gather(*behind, return_exceptions=True)


async def test_a_close_whose_caller_goes_away_is_finished(engine: Engine, tmp_path: Path) -> None:
    await engine.open()
    closing = asyncio.create_task(engine.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.gather(closing, return_exceptions=True)
    await engine.close()
    await works(tmp_path)
