"""``/memory sleep`` begins a night, tells how it goes, and what the last one did."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.commands.commands import Commands
from astrbot_plugin_scoped_memory.core.services.sleep_schedule import (
    SchedulePace,
    SleepSchedule,
)
from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory.models.status import IndexState
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, Ticker, running
from astrbot_plugin_scoped_memory.tests.support.nights import (
    NIGHT,
    find_useless,
    passive,
    plant,
)
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent, FakePlugin

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


class Desk(FakePlugin):
    """A plugin with a schedule, whose task runs."""

    def __init__(self, rig: Rig, clock: Ticker, language: str) -> None:
        super().__init__(rig, language)
        self.clock = clock
        pace = SchedulePace(catch_up_seconds=0.0, retry_seconds=60.0)
        self.schedule = SleepSchedule(rig.engine, None, UTC, self.texts, pace=pace)

    async def ask(self, words: str = "", *, admin: bool = True) -> str:
        commands = Commands(cast("Any", self))
        event = FakeEvent.in_group(1, f"memory sleep {words}", admin=admin)
        answer = await commands.answer(cast("Any", event), commands.sleep)
        await self.settled()
        return answer

    async def until_done(self) -> None:
        await until_true(lambda: not self.schedule.going)


@contextlib.asynccontextmanager
async def desk(rig: Rig, clock: Ticker, language: str) -> AsyncIterator[Desk]:
    made = Desk(rig, clock, language)
    task = asyncio.create_task(made.schedule.run())
    try:
        await made.schedule.looked.wait()
        yield made
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_an_admin_begins_a_night_and_hears_what_it_did(tmp_path: Path, language: str) -> None:
    memories = [passive(n, f"密语{n}", strength=60) for n in range(8)]
    plant(tmp_path, "家人", "patterns.md", memories)
    find_useless(tmp_path, "家人", *memories[:3])
    clock = Ticker(NIGHT)
    async with (
        running(tmp_path, clock=clock, follow=False) as rig,
        desk(rig, clock, language) as plugin,
    ):
        say = plugin.texts.say
        assert await plugin.ask("status") == say("sleep.never")
        assert await plugin.ask() == say("sleep.started")
        await plugin.until_done()
        told = await plugin.ask()
        assert "2026-11-21.jsonl" in told
        assert say("sleep.again") in told
        assert say("sleep.unmerged", count=1) in told
        report = plugin.schedule.report
        assert (report.faded, report.reason) == (3, "command")
        assert f"{report.faded} " in told
        assert "密语" not in told
        assert await plugin.ask("now") == say("sleep.started")
        await plugin.until_done()
        assert plugin.schedule.report.run_id != report.run_id
        clock.now += timedelta(hours=1)
        assert await plugin.ask() == say("sleep.started")
        await plugin.until_done()


async def test_while_it_waits_or_goes_on_the_answer_says_so(tmp_path: Path) -> None:
    clock = Ticker(NIGHT)
    async with (
        running(tmp_path, clock=clock, follow=False) as rig,
        desk(rig, clock, "zh-CN") as plugin,
    ):
        rig.engine.rooms.indexing.state = IndexState.BUILDING
        assert await plugin.ask() == plugin.texts.say("sleep.started")
        await until_true(lambda: bool(plugin.schedule.waiting))
        assert "索引还在建" in await plugin.ask()


async def test_before_the_memories_are_read_nothing_is_promised(tmp_path: Path) -> None:
    clock = Ticker(NIGHT)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        plugin = Desk(rig, clock, "zh-CN")
        assert await plugin.ask() == plugin.texts.say("sleep.unready")
