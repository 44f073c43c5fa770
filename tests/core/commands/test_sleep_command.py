"""``/memory sleep`` begins a night, tells how it goes, and what the last one did."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC
from pathlib import Path

import pytest

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
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk, FakePlugin

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


class NightPlugin(FakePlugin):
    """A plugin with a schedule."""

    def __init__(self, rig: Rig, language: str) -> None:
        super().__init__(rig, language)
        pace = SchedulePace(catch_up_seconds=0.0, retry_seconds=60.0)
        self.schedule = SleepSchedule(rig.engine, None, UTC, self.texts, pace=pace)


@contextlib.asynccontextmanager
async def scheduled(
    root: Path, language: str = "zh-CN"
) -> AsyncIterator[tuple[Rig, NightPlugin, Desk]]:
    """A bot at night, whose schedule runs."""
    async with running(root, clock=Ticker(NIGHT), follow=False) as rig:
        plugin = NightPlugin(rig, language)
        desk = Desk(rig, plugin=plugin)
        assert await desk("sleep") == desk.say("sleep.unready")  # nothing is promised too early
        assert await desk("sleep 花生") == desk.say("outcome.unread_words", words="花生")
        task = asyncio.create_task(plugin.schedule.run())
        try:
            await plugin.schedule.looked.wait()
            yield rig, plugin, desk
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_an_admin_begins_a_night_and_hears_what_it_did(tmp_path: Path, language: str) -> None:
    memories = [passive(n, f"密语{n}", strength=60) for n in range(8)]
    plant(tmp_path, "家人", "patterns.md", memories)
    find_useless(tmp_path, "家人", *memories[:3])
    async with scheduled(tmp_path, language) as (_, plugin, desk):
        for words in ("sleep", "sleep now"):
            assert await desk(words) == desk.say("sleep.started")
            await until_true(lambda: not plugin.schedule.going)
            if words == "sleep":
                first = plugin.schedule.report
                told = await desk("sleep")
        assert (first.faded, first.reason) == (3, "command")
        assert plugin.schedule.report.run_id != first.run_id
        for part in ("2026-11-21.jsonl", desk.say("sleep.unmerged", count=1), f"{first.faded} "):
            assert part in told
        assert "密语" not in told


async def test_while_it_waits_the_answer_says_so(tmp_path: Path) -> None:
    async with scheduled(tmp_path) as (rig, plugin, desk):
        rig.engine.rooms.indexing.state = IndexState.BUILDING
        assert await desk("sleep") == desk.say("sleep.started")
        await until_true(lambda: bool(plugin.schedule.waiting))
        assert "索引还在建" in await desk("sleep")
