"""A night comes at its hour, once; what was missed is made up for once; nothing overlaps."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from astrbot_plugin_scoped_memory.core.services.sleep_schedule import (
    CronTimer,
    SchedulePace,
    SleepSchedule,
)
from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory.consolidation.models import Postponed, SleepReport
from astrbot_plugin_scoped_memory.llm_memory.models.status import IndexState
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, Ticker, running
from astrbot_plugin_scoped_memory.tests.support.nights import NIGHT

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

AT = (4, 0)
QUICKLY = SchedulePace(catch_up_seconds=0.0, retry_seconds=0.01, patience=3)
TEXTS = Texts("zh-CN")


class HandTimer(CronTimer):
    """Calls when a test says so."""

    def __init__(self, *, missing: bool = False) -> None:
        super().__init__(None)
        self.missing = missing
        self.due: Callable[[], object] | None = None

    async def start(self, at: tuple[int, int], due: Callable[[], object]) -> None:
        if self.missing:
            raise ImportError("no such package")
        self.due = due

    async def ring(self) -> None:
        """It is the hour, and whoever waits for it has looked."""
        assert self.due is not None
        self.due()
        for _ in range(20):
            await asyncio.sleep(0)

    def next_at(self) -> datetime | None:
        return None if self.due is None else NIGHT + timedelta(days=1)

    async def stop(self) -> None:
        self.due = None


class Nights:
    """The runs that a schedule makes, as they are told."""

    def __init__(self, rig: Rig) -> None:
        self._run = rig.engine.sleep.run_once
        self.reasons: list[str] = []
        self.postponed: list[Postponed] = []
        self.done = asyncio.Event()
        rig.engine.sleep.run_once = self.run_once  # type: ignore[method-assign]

    async def run_once(self, reason: str, *, patient: bool = True) -> SleepReport:
        report = await self._run(reason, patient=patient)
        if report.postponed is Postponed.NO:
            self.reasons.append(reason)
        else:
            self.postponed.append(report.postponed)
        self.done.set()
        return report

    async def next(self) -> None:
        """Wait for one more."""
        async with asyncio.timeout(30):
            await self.done.wait()
        self.done.clear()


@contextlib.asynccontextmanager
async def scheduled(
    root: Path,
    clock: Ticker,
    timer: HandTimer | None = None,
    *,
    at: tuple[int, int] | None = AT,
    pace: SchedulePace = QUICKLY,
) -> AsyncIterator[tuple[Rig, Nights, SleepSchedule]]:
    """A bot whose schedule has looked for what it missed."""
    async with running(root, clock=clock, follow=False) as rig:
        nights = Nights(rig)
        schedule = SleepSchedule(rig.engine, at, UTC, TEXTS, timer=timer or HandTimer(), pace=pace)
        assert not schedule.ask()  # nothing is promised where nobody makes it
        task = asyncio.create_task(schedule.run())
        try:
            async with asyncio.timeout(30):
                await schedule.looked.wait()
            yield rig, nights, schedule
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert (await rig.engine.status()).loop.next_sleep is None


async def test_a_first_start_makes_no_night_and_its_hour_makes_one_though_it_comes_twice(
    tmp_path: Path,
) -> None:
    clock, timer = Ticker(NIGHT + timedelta(hours=8)), HandTimer()
    async with scheduled(tmp_path, clock, timer) as (rig, nights, schedule):
        assert nights.reasons == []
        assert (await rig.engine.status()).loop.next_sleep == NIGHT + timedelta(days=1)
        clock.now += timedelta(hours=16)
        await timer.ring()
        await nights.next()
        assert not schedule.going
        clock.now += timedelta(minutes=55)  # clocks are set back in autumn
        await timer.ring()
        schedule.ask()
        await nights.next()
        assert nights.reasons == ["nightly", "command"]
    assert timer.due is None


async def test_a_missed_night_is_made_up_for_once(tmp_path: Path) -> None:
    clock = Ticker(NIGHT + timedelta(hours=8))
    async with scheduled(tmp_path, clock):
        clock.now += timedelta(days=3)
    for expected in (["missed"], []):
        async with scheduled(tmp_path, clock) as (_, nights, schedule):
            if expected:
                await nights.next()
            assert not schedule.going
        assert nights.reasons == expected


async def test_a_night_waits_while_the_index_is_built_but_not_for_ever(tmp_path: Path) -> None:
    async with scheduled(tmp_path, Ticker(NIGHT)) as (rig, nights, schedule):
        rig.engine.parts.indexing.state = IndexState.BUILDING
        assert schedule.ask()
        while not nights.reasons:
            await nights.next()
        assert nights.postponed == [Postponed.BUILDING] * 3
        assert schedule.waiting is Postponed.NO


async def test_with_no_hour_nights_come_only_when_asked_for(tmp_path: Path) -> None:
    timer = HandTimer()
    async with scheduled(tmp_path, Ticker(NIGHT), timer, at=None) as (_, nights, schedule):
        assert timer.due is None
        assert schedule.ask()
        await nights.next()
    assert nights.reasons == ["command"]


async def test_without_apscheduler_a_night_comes_when_it_was_missed_or_is_asked_for(
    tmp_path: Path,
) -> None:
    clock = Ticker(NIGHT + timedelta(hours=8))
    async with scheduled(tmp_path, clock):  # counted from here
        clock.now += timedelta(days=1)
    async with scheduled(tmp_path, clock, HandTimer(missing=True)) as (rig, nights, schedule):
        await nights.next()
        assert schedule.no_timer
        assert (await rig.engine.status()).loop.next_sleep is None
        assert schedule.ask()
        await nights.next()
    assert nights.reasons == ["missed", "command"]


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "Europe/Berlin"])
async def test_apscheduler_is_asked_for_the_bots_own_hour(zone: str) -> None:
    timer, called = CronTimer(ZoneInfo(zone)), asyncio.Event()
    await timer.start(AT, called.set)
    due = timer.next_at()
    assert due is not None
    assert (due.hour, due.minute) == AT
    assert due == datetime(due.year, due.month, due.day, *AT, tzinfo=ZoneInfo(zone))
    assert timer.job.coalesce
    assert timer.job.max_instances == 1
    timer.job.modify(next_run_time=datetime.now(UTC))
    async with asyncio.timeout(30):
        await called.wait()
    assert timer.next_at() is not None
    await timer.stop()
    await timer.stop()
    assert timer.next_at() is None


@pytest.mark.parametrize("hour_first", [True, False])
@pytest.mark.parametrize("unfinished", [True, False])
async def test_a_start_shortly_before_the_hour_makes_one_night(
    tmp_path: Path, hour_first: bool, unfinished: bool
) -> None:
    """Whichever comes first, the hour or what makes up for the night that was missed."""
    clock, timer = Ticker(NIGHT + timedelta(hours=8)), HandTimer()
    made_up = "resumed" if unfinished else "missed"
    async with scheduled(tmp_path, clock) as (rig, _, _):
        if unfinished:
            rig.engine.parts.sleep_store.begin(SleepReport(run_id="s-1", reason="nightly"))
    clock.now = NIGHT + timedelta(days=2, minutes=-2)
    pace = replace(QUICKLY, catch_up_seconds=3600.0 if hour_first else 0.0)
    async with scheduled(tmp_path, clock, timer, pace=pace) as (rig, nights, schedule):
        if not hour_first:
            await nights.next()
        clock.now = NIGHT + timedelta(days=2, seconds=1)
        await timer.ring()
        if hour_first:
            await nights.next()
            clock.now += timedelta(minutes=3)
            schedule.ask(made_up)  # the catch-up's turn has come
        await until_true(lambda: not schedule.going)
        assert nights.reasons == ["nightly" if hour_first else made_up]
        assert not await rig.engine.sleep.is_unfinished()
        clock.now += timedelta(days=1)
        await timer.ring()
        await nights.next()
        assert nights.reasons[1:] == ["nightly"]
