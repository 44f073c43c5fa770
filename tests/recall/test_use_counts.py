"""What was found useful comes a little sooner, and no recall reads the disk for it."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Actor, Feedback, Ticket, Turn
from astrbot_plugin_scoped_memory.tests.fakes.trust import FixedTrust
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, running

pytestmark = pytest.mark.engine

HERE = group(777)
OLD, NEW = "姑妈家养着一盆兰花", "舅舅家养着一盆菊花"
QUERY = "谁家养着一盆花"


async def found_useful(rig: Rig, *memory_ids: str, times: int = 1) -> None:
    for _ in range(times):
        turn = Turn(Actor("aiocqhttp:1", "小明", False), QUERY, "兰花")
        ticket = await rig.engine.service.observe(turn, conversation_id=HERE)
        assert isinstance(ticket, Ticket)
        report = await rig.engine.service.feedback(Feedback(useful_ids=memory_ids), ticket=ticket)
        assert report.counted == memory_ids


async def test_of_two_that_answer_alike_the_useful_one_comes_first_and_after_a_restart(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, trust=FixedTrust(0.0)) as rig:
        old = await rig.remember(OLD, HERE)
        await rig.remember(NEW, HERE)
        await rig.until_indexed()
        assert await rig.texts(QUERY, HERE) == [NEW, OLD]
        await found_useful(rig, old.memory.memory.memory_id, times=3)
        assert await rig.texts(QUERY, HERE) == [OLD, NEW]
    async with running(tmp_path, trust=FixedTrust(0.0)) as rig:
        await rig.until_indexed()
        assert await rig.texts(QUERY, HERE) == [OLD, NEW]


async def test_a_recall_reads_no_counts_from_the_disk(tmp_path: Path) -> None:
    async with running(tmp_path, trust=FixedTrust(0.0)) as rig:
        old = await rig.remember(OLD, HERE)
        await rig.remember(NEW, HERE)
        await found_useful(rig, old.memory.memory.memory_id, times=3)
        with sqlite3.connect(tmp_path / "state" / "state.sqlite") as connection:
            connection.execute("DELETE FROM use_count")
        assert await rig.texts(QUERY, HERE) == [OLD, NEW]


async def shown(rig: Rig, query: str) -> list[str]:
    """What one recall of at most one memory shows."""
    recall = await rig.recall(query, HERE, 1)
    return [hit.preview for hit in recall.hits]


async def test_a_recall_that_shows_a_memory_counts_as_an_access_without_any_reader(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, trust=FixedTrust(0.0)) as rig:
        await rig.remember(OLD, HERE)
        await rig.remember(NEW, HERE)
        await rig.until_indexed()
        assert await rig.texts(QUERY, HERE) == [NEW, OLD]
        for _ in range(6):
            assert await shown(rig, "兰花") == [OLD]
        assert await rig.texts(QUERY, HERE) == [OLD, NEW]
    # It stands in the state, with its scope.
    with sqlite3.connect(tmp_path / "state" / "state.sqlite") as connection:
        counted = connection.execute("SELECT scope, uses FROM use_count ORDER BY uses").fetchall()
    assert counted == [("家人", 2), ("家人", 8)]
    async with running(tmp_path, trust=FixedTrust(0.0)) as rig:
        await rig.until_indexed()
        assert await rig.texts(QUERY, HERE) == [OLD, NEW]


async def test_what_nobody_is_shown_is_no_access(tmp_path: Path) -> None:
    async with running(tmp_path, trust=FixedTrust(0.0)) as rig:
        old = await rig.remember(OLD, HERE)
        await rig.remember(NEW, HERE)
        await rig.until_indexed()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):  # the deadline gave up
                await shown(rig, "兰花")
        await rig.engine.service.explain(conversation_id=HERE)
        await rig.engine.service.newest(conversation_id=HERE, limit=5)
        await rig.engine.service.expand(old.memory.pointer, conversation_id=HERE)
    with sqlite3.connect(tmp_path / "state" / "state.sqlite") as connection:
        assert connection.execute("SELECT * FROM use_count").fetchall() == []
