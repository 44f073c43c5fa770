"""A night comes at its hour, once; what was missed is made up for once; nothing overlaps."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from astrbot_plugin_scoped_memory.core.services.sleep_schedule import SleepSchedule
from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory import StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.consolidation.report import Postponed, SleepReport
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, Ticker, running
from astrbot_plugin_scoped_memory.tests.support.nights import NIGHT

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

AT = (4, 0)
NOON, DAY = NIGHT + timedelta(hours=8), timedelta(days=1)


class Nights:
    """The runs that are ``made``, and why others are ``postponed``."""

    def __init__(self, rig: Rig, schedule: SleepSchedule, clock: Ticker) -> None:
        self._run = rig.engine.sleep.run_once
        rig.engine.sleep.run_once = self.run_once  # type: ignore[method-assign]
        self._schedule, self._clock = schedule, clock
        schedule.clock = self._look
        self.made, self.postponed = list[str](), list[Postponed]()
        self._looks = 0

    async def run_once(self, reason: str, *, patient: bool = True) -> SleepReport:
        report = await self._run(reason, patient=patient)
        if report.postponed:
            self.postponed.append(report.postponed)
        else:
            self.made.append(reason)
        return report

    async def at(self, moment: datetime) -> list[str]:
        """What was made by the time that the clock shows this, and was looked at."""
        self._clock.now, looks = moment, self._looks
        await until_true(lambda: self._looks > looks + 3 and not self._schedule.going)
        return self.made

    def _look(self) -> datetime:
        self._looks += 1
        return self._clock()


@contextlib.asynccontextmanager
async def scheduled(
    root: Path, clock: Ticker, *, at: tuple[int, int] | None = AT, look: float = 0.0
) -> AsyncIterator[tuple[Rig, Nights, SleepSchedule]]:
    """A bot whose schedule has looked for what it missed."""
    async with running(root, clock=clock, follow=False) as rig:
        schedule = SleepSchedule(rig.engine, at, clock, first_look=look, look=look, patience=3)
        nights = Nights(rig, schedule, clock)
        assert not schedule.ask()  # nothing is promised where nobody makes it
        task = asyncio.create_task(schedule.run())
        try:
            async with asyncio.timeout(30):
                await schedule.running.wait()
            yield rig, nights, schedule
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert (await rig.engine.status()).loop.next_sleep is None


async def test_its_hour_makes_one_night_though_it_comes_twice_a_start_none(tmp_path: Path) -> None:
    async with scheduled(tmp_path, Ticker(NOON)) as (rig, nights, schedule):
        assert await nights.at(NOON) == []
        assert (await rig.engine.status()).loop.next_sleep == NIGHT + DAY
        # Clocks are set back in autumn.
        for moment in (NIGHT + DAY, NIGHT + DAY + timedelta(minutes=55), NIGHT + DAY):
            assert await nights.at(moment) == ["nightly"]
        assert schedule.ask()
        assert await nights.at(NIGHT + DAY) == ["nightly", "command"]
        assert await nights.at(NIGHT + 2 * DAY) == ["nightly", "command", "nightly"]


async def test_what_was_missed_is_made_up_for_once(tmp_path: Path) -> None:
    """Also where the bot starts shortly before the hour."""
    clock = Ticker(NOON)
    async with scheduled(tmp_path, clock):
        pass
    clock.now += 3 * DAY - timedelta(hours=8, minutes=2)
    for expected in (["nightly"], []):
        async with scheduled(tmp_path, clock) as (_, nights, _):
            assert await nights.at(clock.now) == expected
            assert await nights.at(clock.now + timedelta(minutes=2)) == expected


async def test_a_night_waits_while_the_index_is_built_but_not_for_ever(tmp_path: Path) -> None:
    async with scheduled(tmp_path, Ticker(NIGHT), at=None) as (rig, nights, schedule):
        rig.engine.parts.indexing.state = "building"
        assert schedule.ask()
        await until_true(lambda: not schedule.going)
        assert (nights.made, nights.postponed) == (["command"], ["building"] * 3)
        assert (await rig.engine.status()).loop.next_sleep is None  # it has no hour


async def test_a_failed_night_comes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nothing of the nights can be read or written: each begins with a backup."""

    def broken(*_: object) -> None:
        raise StateUnavailable("disk I/O error")

    async with scheduled(tmp_path, Ticker(NOON)) as (rig, nights, _):
        for name in ("put_fact", "fact"):
            monkeypatch.setattr(type(rig.engine.parts.loop_book), name, broken)
        assert await nights.at(NOON) == []
        for number in (1, 2):
            assert await nights.at(NIGHT + number * DAY) == ["nightly"] * number


async def test_the_alarm_wakes_the_night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was missed waits for it, too, but not who asks."""
    alarms: list[AsyncIOScheduler] = []
    start = AsyncIOScheduler.start

    def started(alarm: AsyncIOScheduler) -> None:
        alarms.append(alarm)
        start(alarm)

    monkeypatch.setattr(AsyncIOScheduler, "start", started)
    clock = Ticker(NOON)
    async with scheduled(tmp_path, clock):
        clock.now += 3 * DAY
    async with scheduled(tmp_path, clock, look=3600.0) as (_, nights, schedule):
        [job] = alarms[-1].get_jobs()
        assert job.next_run_time.astimezone(NOON.tzinfo).hour == AT[0]
        await asyncio.sleep(0.1)  # time enough for a night that does not wait
        assert (schedule.going, nights.made) == (False, [])
        schedule.ask()
        await until_true(lambda: nights.made == ["command"])
        clock.now += DAY
        job.modify(next_run_time=datetime.now(UTC))
        await until_true(lambda: nights.made == ["command", "nightly"])
    assert not alarms[-1].running


@pytest.mark.parametrize("missing", [True, False])
async def test_a_bot_without_an_alarm_has_its_night_at_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: bool
) -> None:
    """Without the package, and with a zone of which it wants another name."""

    def refused(_: AsyncIOScheduler) -> None:
        raise ValueError("Unable to determine the name of the local timezone")

    if missing:
        monkeypatch.setitem(sys.modules, "apscheduler.schedulers.asyncio", None)
    else:
        monkeypatch.setattr(AsyncIOScheduler, "start", refused)
    async with scheduled(tmp_path, Ticker(NOON)) as (_, nights, _):
        assert await nights.at(NIGHT + DAY) == ["nightly"]
