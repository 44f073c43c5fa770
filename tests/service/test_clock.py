"""A clock that runs ahead a year and is set back, and another time zone after a restart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import MemoryKind, Stored
from astrbot_plugin_scoped_memory.llm_memory.consolidation.models import Postponed
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
    return await rig.remember(text, HOME, person(1), kind=MemoryKind.EVENT)


async def slept(rig: Rig) -> None:
    """A night, which is put off while an index is being built."""
    await rig.until_indexed()
    report = await rig.night()
    assert (report.postponed, report.errors) == (Postponed.NO, ())


async def test_a_clock_that_was_a_year_ahead_for_a_night_costs_nothing(tmp_path: Path) -> None:
    clock = Ticker(DAY)
    async with running(tmp_path, clock=clock) as rig:
        await rig.remember(PEANUTS, HOME)
        await happened(rig, "邻居搬了家")
        clock.now = DAY + timedelta(days=365)
        await slept(rig)
        assert PEANUTS in await rig.texts(QUESTION, HOME)
        assert "邻居搬了家" in await rig.texts("去年11月21号我们做了什么", HOME)
        await happened(rig, "客厅装好了灯")
    clock.now = DAY + timedelta(days=1)
    async with running(tmp_path, clock=clock) as rig:
        await slept(rig)
        await happened(rig, "阳台种了葱")
        await rig.until_indexed()
        assert await rig.newest(HOME) == ["客厅装好了灯", "阳台种了葱", "邻居搬了家", PEANUTS]
        assert "邻居搬了家" in await rig.texts("昨天我们做了什么", HOME)
        assert "阳台种了葱" in await rig.texts("今天我们做了什么", HOME)
    journals = {path.stem for path in (tmp_path / "memory/scopes/家人/journal").glob("*.md")}
    assert journals >= {"2026-11-21", "2026-11-22", "2027-11-21"}


async def test_another_time_zone_after_a_restart_counts_days_its_own_way(tmp_path: Path) -> None:
    """docs/recall.md: an entry is of the day that the zone of now says, and a journal of the day
    that it was written for. In the morning of Shanghai's 21st it is the 20th in New York."""
    events = {"邻居搬了家", "客厅装好了灯", "阳台种了葱"}
    clock = Ticker(datetime(2026, 11, 21, 8, 30, tzinfo=timezone(timedelta(hours=8))))
    async with running(tmp_path, clock=clock) as rig:
        for event in sorted(events):
            await happened(rig, event)
        clock.now += timedelta(days=1)
        await slept(rig)
    clock.now = datetime(2026, 11, 23, 9, 0, tzinfo=timezone(timedelta(hours=-5)))
    async with running(tmp_path, clock=clock) as rig:
        await slept(rig)
        await rig.until_indexed()
        assert rig.notices == []
        assert set(await rig.texts("11月20号我们做了什么", HOME)) == events
        (journal,) = await rig.texts("11月21号我们做了什么", HOME)
        assert journal.startswith("2026-11-21")
