"""The tokens of a day: what is read fits into them, and else waits for the next day."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Resting
from astrbot_plugin_scoped_memory.llm_memory.reflection.chat_port import Completion
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.prompt import LEAST_TOKENS
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import running
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    StandingClock,
    reflect,
    say,
    with_loop,
)

pytestmark = pytest.mark.engine


async def test_when_the_tokens_of_a_day_are_spent_turns_wait_for_the_next_local_one(
    tmp_path: Path,
) -> None:
    zone = ZoneInfo("Asia/Shanghai")
    clock = StandingClock(datetime(2026, 11, 21, 23, 0, tzinfo=zone))
    chat = ScriptedChat(otherwise=Completion("{}", tokens=4_000))
    settings = with_loop(after_turns=1, daily_tokens=10_000)
    async with running(tmp_path, chat=chat, clock=clock, settings=settings, follow=False) as rig:
        reader = rig.engine.loop.reflection
        for _ in range(5):
            await say(rig, "说了一句话")
            await reader.read_due()
        assert len(chat.calls) == 2  # a third one could cost more than what is left
        status = await rig.engine.loop.status()
        assert status.resting is Resting.BUDGET
        assert status.spent is not None
        assert (status.spent.tokens, status.budget) == (8_000, 10_000)
        assert (await reflect(rig)).resting is Resting.BUDGET  # nor for an admin
        clock.forward(minutes=59)
        await reader.read_due()
        assert len(chat.calls) == 2
        clock.forward(minutes=1)
        assert (await reader.read_due()).read == 3
        assert len(chat.calls) == 3
        clock.forward(hours=-2)  # the clock went back over midnight: that day is spent already
        await say(rig, "说了一句话")
        assert (await reader.read_due()).resting is Resting.BUDGET


@pytest.mark.parametrize("budget", [0, 100, LEAST_TOKENS])
async def test_a_budget_that_no_call_fits_in_makes_no_call(tmp_path: Path, budget: int) -> None:
    chat = ScriptedChat()
    settings = with_loop(after_turns=1, daily_tokens=budget)
    async with running(tmp_path, chat=chat, settings=settings) as rig:
        await say(rig, "奶奶对花生过敏")
        report = await rig.engine.loop.reflection.read_due()
        assert (report.resting, chat.calls) == (Resting.BUDGET, [])


async def test_a_batch_fits_into_a_day_however_long_the_turns_are(tmp_path: Path) -> None:
    chat = ScriptedChat()
    settings = with_loop(after_turns=1, daily_tokens=3_500)
    async with running(tmp_path, chat=chat, settings=settings) as rig:
        for number in range(12):
            await say(rig, f"第{number}句：" + "长" * 1_500)
        await rig.engine.loop.reflection.read_due()
        assert len(chat.calls) == 1
        spent = (await rig.engine.loop.status()).spent
        assert spent is not None
        assert spent.tokens <= 3_500
