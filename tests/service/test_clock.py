"""A clock that is set back a day while the bot runs, and between two of its runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Forgotten, MemoryDraft, MemoryKind, Stored
from astrbot_plugin_scoped_memory.tests.support.engines import (
    Rig,
    Ticker,
    group,
    person,
    running,
)

pytestmark = pytest.mark.engine

DAY = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)
HOME = group(777)
PEANUTS, QUESTION = "奶奶对花生过敏", "奶奶能吃花生吗"


async def happened(rig: Rig, text: str) -> Stored:
    """An event, which goes to the journal of its day."""
    draft = MemoryDraft(text, kind=MemoryKind.EVENT, actor=person(1))
    outcome = await rig.engine.service.remember(draft, conversation_id=HOME)
    assert isinstance(outcome, Stored)
    return outcome


async def newest(rig: Rig) -> list[str]:
    """The family's memories, the newest first."""
    found = await rig.engine.service.newest(conversation_id=HOME, limit=99)
    return [stored.memory.judgment for stored in found]


async def test_a_clock_set_back_while_the_bot_runs_costs_nothing(tmp_path: Path) -> None:
    clock = Ticker(DAY)
    async with running(tmp_path, clock=clock) as rig:
        before = [await happened(rig, "邻居搬了家"), await rig.remember(PEANUTS, HOME)]
        await rig.until_indexed()
        clock.now = DAY - timedelta(days=1)
        after = [await happened(rig, "客厅装好了灯"), await rig.remember("奶奶喜欢豆浆", HOME)]
        ids = {stored.memory.memory.memory_id for stored in (*before, *after)}
        assert len(ids) == 4
        paths = [stored.memory.path for stored in (before[0], after[0])]
        assert paths == ["journal/2026-11-21.md", "journal/2026-11-20.md"]
        # By what the entries say: a person reads the same order in the files.
        assert await newest(rig) == [PEANUTS, "邻居搬了家", "奶奶喜欢豆浆", "客厅装好了灯"]
        assert PEANUTS in await rig.texts(QUESTION, HOME)
        assert "奶奶喜欢豆浆" in await rig.texts("奶奶喜欢喝什么豆浆", HOME)
        await rig.until_indexed()
        assert "客厅装好了灯" in await rig.texts("客厅装好了灯吗", HOME)
    async with running(tmp_path, clock=clock) as rig:
        assert rig.notices == []
        assert await newest(rig) == [PEANUTS, "邻居搬了家", "奶奶喜欢豆浆", "客厅装好了灯"]
        assert PEANUTS in await rig.texts(QUESTION, HOME)


async def test_the_same_moment_twice_gives_no_id_twice(tmp_path: Path) -> None:
    async with running(tmp_path, clock=lambda: DAY) as rig:
        said = [await rig.remember(f"第{number}件事", HOME) for number in range(50)]
        assert len({stored.memory.memory.memory_id for stored in said}) == 50
    async with running(tmp_path, clock=lambda: DAY - timedelta(days=1)) as rig:
        assert len(await newest(rig)) == 50
        again = await rig.remember("又一件事", HOME)
        forgotten = await rig.engine.service.forget(
            again.memory.memory.memory_id, conversation_id=HOME, actor=person(10001)
        )
        assert "又一件事" not in await newest(rig)
        assert isinstance(forgotten, Forgotten)


async def test_what_was_said_before_the_clock_was_set_back_is_strengthened_and_not_doubled(
    tmp_path: Path,
) -> None:
    clock = Ticker(DAY)
    async with running(tmp_path, clock=clock) as rig:
        await rig.remember(PEANUTS, HOME)
    clock.now = DAY - timedelta(days=1)
    async with running(tmp_path, clock=clock) as rig:
        draft = MemoryDraft(PEANUTS, actor=person(10001))
        assert not isinstance(
            await rig.engine.service.remember(draft, conversation_id=HOME), Stored
        )
        assert await newest(rig) == [PEANUTS]
