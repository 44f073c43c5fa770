"""What was found useful comes a little sooner, and no recall reads the disk for it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory import Actor, Feedback, Ticket, Turn
from astrbot_plugin_scoped_memory.tests.fakes.trust import FixedTrust
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, running

HERE = group(777)
OLD, NEW = "客厅养着一盆兰花", "客厅养着一盆菊花"
QUERY = "客厅养着一盆什么花"


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
