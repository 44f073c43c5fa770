"""A bot that nobody talks to rests: all that goes on behind it in the event loop looks at most
once a minute. Changes of files are told by a thread; where nobody tells, they are looked for."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.services.feedback_service import FeedbackService
from astrbot_plugin_scoped_memory.core.services.sleep_schedule import SleepSchedule
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory import EngineSettings
from astrbot_plugin_scoped_memory.llm_memory.models.settings import IndexPace, VaultPace
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.fakes.watcher import FakeWatcher
from astrbot_plugin_scoped_memory.tests.support.engines import Ticker, group, running
from astrbot_plugin_scoped_memory.tests.support.loop_timers import soonest
from astrbot_plugin_scoped_memory.tests.support.reflecting import say

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

MINUTE = 60.0
SETTINGS = replace(
    EngineSettings(),
    # What follows a change is quick here; how often it looks without one is as it is for owners.
    pace=IndexPace(idle_seconds=0.05, pause_seconds=0.0),
    vault_pace=VaultPace(debounce_seconds=0.01, quiet_seconds=0.0),
)


async def is_calm() -> bool:
    """Nothing rings soon, however often one asks, and at no regular times: what looks all the time
    has no timer either while a thread looks for it, or in the moment that it rings."""
    for number in range(50):
        if soonest() < MINUTE:
            return False
        await asyncio.sleep(number / 1000)
    return True


async def test_with_a_turn_waiting_nothing_rings_within_a_minute(tmp_path: Path) -> None:
    clock, chat, watcher = Ticker(), ScriptedChat(), FakeWatcher()
    half_a_day_from_now = ((datetime.now(UTC).hour + 12) % 24, 0)
    async with running(tmp_path, clock=clock, chat=chat, watcher=watcher, settings=SETTINGS) as rig:
        schedule = SleepSchedule(rig.engine, half_a_day_from_now, UTC, Texts("zh-CN"))
        behind = [
            asyncio.create_task(work)
            for work in (
                rig.engine.follow(),
                FeedbackService(rig.engine).run(),
                schedule.run(),
            )
        ]
        try:
            await rig.remember("奶奶对花生过敏", group(777))
            await say(rig, "奶奶对花生过敏")
            rig.engine.loop.reflection.wake()
            async with asyncio.timeout(100):
                await rig.until_indexed()
                await watcher.started.wait()
                await schedule.looked.wait()
            # Without a timer of the loop, which would ring within a minute itself.
            await until(is_calm, within=100, what="calm")
            assert not any(task.done() for task in behind)
            assert rig.engine.loop.reflection.last.waiting == 1
            assert (await rig.engine.loop.status()).next_sleep is not None
            assert chat.calls == []
        finally:
            for task in behind:
                task.cancel()
            await asyncio.gather(*behind, return_exceptions=True)


def test_where_nobody_tells_of_changes_files_are_looked_at_once_a_minute() -> None:
    assert VaultPace().scan_seconds >= MINUTE  # that it is kept: test_vault_follower.py
