"""A whole engine over a real Chroma whose folder is harmed: it answers at once, says what it met,
and finds everything again afterwards.

What becomes of the folder itself stands in tests/index/vector/test_index_faults.py.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import NoticeCode
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm, DropReason
from astrbot_plugin_scoped_memory.tests.index.vector.index_bench import (
    Index,
    fill_with_garbage,
    held,
    truncate,
)
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, person
from astrbot_plugin_scoped_memory.tests.support.indexed import (
    FAMILY,
    Counted,
    answered,
    assert_whole,
    build,
    copied,
    indexed,
    standing,
    until_said,
    words,
)
from astrbot_plugin_scoped_memory.tests.support.programs import program

pytestmark = [
    pytest.mark.process,
    pytest.mark.engine,
    pytest.mark.timeout(400),
]  # the first test of a group waits for its process

POSIX = pytest.mark.skipif(
    sys.platform not in ("linux", "darwin"), reason="open files stay, and locks cannot be told here"
)
NEW = "奶奶对花生过敏"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asyncio.run(build(tmp_path_factory.mktemp("built") / "data"))


@pytest.fixture
def data(built: Path, tmp_path: Path) -> Path:
    """A copy, to be harmed."""
    return copied(built, tmp_path / "data")


def index(data: Path) -> Index:
    return Index(data / "index")


def everything_garbage(data: Path) -> None:
    for path in (index(data).database, *index(data).segment.iterdir()):
        fill_with_garbage(path)


HARMS: dict[str, Callable[[Path], object]] = {
    "graph truncated": lambda data: truncate(index(data).segment / "data_level0.bin"),
    "database truncated": lambda data: truncate(index(data).database),
    "all garbage": everything_garbage,
    "header garbage": lambda data: fill_with_garbage(index(data).segment / "header.bin"),
    "segment deleted": lambda data: shutil.rmtree(index(data).segment),
    "database deleted": lambda data: index(data).database.unlink(),
}


@pytest.mark.parametrize("harm", HARMS)
async def test_a_damaged_index_is_answered_without_and_built_anew_at_no_cost(
    data: Path, harm: str
) -> None:
    HARMS[harm](data)
    embedder = Counted()
    async with indexed(data, embedder=embedder) as rig:
        assert await answered(rig, words(3, "家里")) == (Arm.SCAN, words(3, "家里"))
        await rig.remember(NEW, FAMILY)
        await rig.until_indexed()
        await assert_whole(rig, NEW)
        (said,) = [n for n in rig.notices if n.code is NoticeCode.INDEX_REBUILT]
        assert said.params["cause"] in {"garbage", "partial", "crashed"}
        assert await standing(rig) == set()
        assert embedder.documents == 1  # the others' vectors lie in the cache
    assert len(index(data).set_aside) == 1


@POSIX
async def test_a_segment_that_is_deleted_under_a_running_bot_is_noticed_at_the_next_start(
    data: Path,
) -> None:
    async with indexed(data) as rig:
        await rig.until_indexed()
        shutil.rmtree(index(data).segment)
        assert (await answered(rig, words(3, "家里")))[1] == words(3, "家里")
        await rig.remember(NEW, FAMILY)
        assert (await answered(rig, NEW))[1] == NEW
    async with indexed(data) as rig:
        await rig.until_indexed()
        await assert_whole(rig, NEW)
        assert await standing(rig) == set()
    assert len(index(data).set_aside) == 1


@pytest.mark.parametrize("part", ["index", "index/chroma"])
async def test_a_copy_of_another_time_is_brought_up_and_nothing_forgotten_comes_back(
    data: Path, tmp_path: Path, part: str
) -> None:
    """With its record beside it the copy looks untouched; without, a child looks into it."""
    earlier = copied(data / part, tmp_path / "earlier")
    async with indexed(data) as rig:
        await rig.until_indexed()
        (old,) = [
            stored
            for stored in await rig.engine.service.newest(conversation_id=FAMILY, limit=999)
            if stored.memory.judgment == words(5, "家里")
        ]
        await rig.engine.service.forget(
            old.memory.memory_id, conversation_id=FAMILY, actor=person(1, admin=True)
        )
        await rig.remember(NEW, FAMILY)
        await rig.until_indexed()
    shutil.rmtree(data / part)
    earlier.rename(data / part)
    async with indexed(data) as rig:
        await rig.until_indexed()
        assert await answered(rig, NEW) == (Arm.DENSE, NEW)
        found = await rig.recall(words(5, "家里"), FAMILY, limit=9)
        assert found.trace.arm is Arm.DENSE
        assert words(5, "家里") not in {hit.preview for hit in found.hits}
        assert DropReason.GONE not in found.trace.dropped  # the index itself has let go of it
        assert rig.notices == [n for n in rig.notices if n.code is NoticeCode.LEXICAL_OFF]
    assert index(data).set_aside == []


async def assert_free_again(rig: Rig, data: Path) -> None:
    """Nothing was lost, set aside, or left standing."""
    await rig.until_indexed()
    await assert_whole(rig, NEW)
    assert await standing(rig) == set()
    assert index(data).set_aside == []


async def test_a_database_that_is_locked_at_the_start_is_waited_for_behind(data: Path) -> None:
    with ExitStack() as lock:
        lock.enter_context(held(index(data).database))
        async with indexed(data) as rig:
            await rig.remember(NEW, FAMILY)
            assert (await until_said(rig, NoticeCode.INDEX_OFF))["cause"] == "busy"
            for text in (words(3, "家里"), NEW):
                assert await answered(rig, text) == (Arm.SCAN, text)
            lock.close()
            await assert_free_again(rig, data)


@POSIX
async def test_a_database_that_is_locked_while_the_bot_runs_is_done_without(data: Path) -> None:
    async with indexed(data) as rig:
        await rig.until_indexed()
        with held(index(data).database):
            await rig.remember(NEW, FAMILY)
            for text in (words(3, "家里"), NEW):
                assert await answered(rig, text) == (Arm.SCAN, text)
            assert (await until_said(rig, NoticeCode.INDEX_OFF))["cause"] == "busy"
        await assert_free_again(rig, data)


@pytest.fixture(scope="module")
def forbidden(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What an engine did whose index was forbidden piece by piece."""
    if not hasattr(os, "geteuid"):
        pytest.skip("no such rights on this system")
    return program.found_by(
        "forbidden_index.py", tmp_path_factory.mktemp("forbidden"), bound_by_modes=True
    )


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What an engine did whose index lay on a real disk that was filled."""
    if not sys.platform.startswith("linux"):
        pytest.skip("no mounts of our own on this system")
    return program.found_by("small_index_disk.py", tmp_path_factory.mktemp("small-disk"))


@pytest.mark.parametrize(
    "what",
    [
        "the database",
        "writing to the database",
        "the folder",
        "while it runs",
    ],
)
def test_an_index_that_is_forbidden_is_done_without_and_kept(
    forbidden: dict[str, Any], what: str
) -> None:
    found = forbidden[what]
    assert found["cause"] == "unreadable"
    assert [arm for arm, _ in found["answers"]] == ["scan", "scan"]
    known, new = (text for _, text in found["answers"])
    assert known == words(3, "家里")
    assert new.startswith(("第", "这一句"))
    assert found["afterwards"] == {"standing": [], "set_aside": []}


@pytest.mark.parametrize("when", ["nearly full", "full", "full at the start", "in the middle"])
def test_a_full_disk_under_the_index_costs_no_memory_and_no_answer(
    small_disk: dict[str, Any], when: str
) -> None:
    found = small_disk[when]
    assert len(found["answers"]) >= 2
    assert all(found["answers"])
    assert found["leaked"] == []


def test_once_there_is_room_again_everything_is_found_and_nothing_stands(
    small_disk: dict[str, Any],
) -> None:
    assert small_disk["in the middle"]["cause"] == "full"
    assert small_disk["afterwards"] == small_disk["after the middle"] == []
