"""What AstrBot's hooks do while the parts behind them are made anew."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from astrbot_plugin_scoped_memory import main
from astrbot_plugin_scoped_memory.core.host.late_start import LateStart
from astrbot_plugin_scoped_memory.core.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent

pytestmark = pytest.mark.unit

SAY = Texts("zh-CN").say


class Made:
    """Parts whose commands answer ``reply``."""

    off = ""
    mind = None

    def __init__(self, reply: str | None = None) -> None:
        self.plugin = object()
        self.commands = SimpleNamespace(answer=self._answer, list=None)
        self.asked = 0
        self._reply = reply

    async def _answer(self, _: object, __: object) -> str | None:
        self.asked += 1
        return self._reply

    async def close(self) -> None:
        """Nothing is open."""


class Bot:
    """AstrBot's view of the plugin, over parts that come from ``made`` one after the other."""

    def __init__(self, *made: Any) -> None:
        parts = iter(made)

        async def make(_: None, __: bool) -> Any:
            return next(parts)

        self.star: Any = object.__new__(main.ScopedMemoryPlugin)
        self.star._config = {}
        self.parts: LateStart[None, Any] = LateStart(lambda: None, make, pytest.fail)
        self.star._parts = self.parts

    async def command(self, name: str) -> list[str]:
        """What a command is answered."""
        event: Any = FakeEvent.in_group(777, f"/memory {name}")
        event.plain_result, event.stop_event = str, lambda: None
        return [reply async for reply in self.star._reply(event, name)]


async def test_a_command_that_finds_no_open_engine_twice_says_that_it_was_reloaded() -> None:
    closed = Made()
    bot = Bot(closed)
    await bot.parts.now()
    assert await bot.command("list") == [SAY("outcome.reloaded")]
    assert closed.asked == 1


async def test_a_command_is_answered_by_the_parts_that_come_next() -> None:
    bot = Bot(Made(), Made("好"))
    await bot.parts.now()
    again = asyncio.create_task(bot.parts.again())
    await asyncio.sleep(0)
    assert await bot.command("list") == ["好"]
    await again
