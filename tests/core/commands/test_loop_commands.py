"""Commands that take long: a night begins, tells how it goes and what the last one did; and however
a slow command ends, the conversation is told."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from datetime import UTC
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.commands import commands
from astrbot_plugin_scoped_memory.core.commands.call import Call
from astrbot_plugin_scoped_memory.core.services.sleep_schedule import SchedulePace, SleepSchedule
from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.models.status import IndexState
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, Ticker, running
from astrbot_plugin_scoped_memory.tests.support.nights import NIGHT, find_useless, passive, plant
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
        rig.engine.parts.indexing.state = IndexState.BUILDING
        assert await desk("sleep") == desk.say("sleep.started")
        await until_true(lambda: bool(plugin.schedule.waiting))
        assert "索引还在建" in await desk("sleep")


@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize(
    ("end", "said", "logged"),
    [
        (StateUnavailable("disk", "state.sqlite"), "StateUnavailable", 0),
        (KeyError("x"), "KeyError", 1),
        ("找回了：我的病叫zqk", "找回了：我的病叫zqk", 0),  # and no word of it is in the log
    ],
)
async def test_the_end_of_what_is_not_waited_for_is_told(
    rig: Rig,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    end: str | Exception,
    said: str,
    logged: int,
    gone: bool,
) -> None:
    """``gone``: whoever waited for it is cancelled before."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def work(_: Call) -> str:
        begun.set()
        await go_on.wait()
        if isinstance(end, Exception):
            raise end
        return end

    monkeypatch.setitem(commands._HANDLERS, "undo", work)  # type: ignore[index]
    if not gone:
        monkeypatch.setattr(commands, "_PATIENCE_SECONDS", 0.0)
    desk = Desk(rig)
    asked = asyncio.create_task(desk("undo"))
    await begun.wait()
    if gone:
        asked.cancel()
    go_on.set()
    with caplog.at_level(logging.INFO):
        answer = (await asyncio.gather(asked, return_exceptions=True))[0]
        await desk.plugin.settled()
    assert isinstance(answer, BaseException) if gone else answer == desk.say("slow.goes_on")
    (told,) = desk.sent
    assert said in told
    assert len([one for one in caplog.records if "zqk" in one.message or one.exc_info]) == logged
