"""What AstrBot's hooks do while the parts behind them are made anew."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from astrbot.core.star.star_handler import star_handlers_registry

from astrbot_plugin_scoped_memory import main
from astrbot_plugin_scoped_memory.core import plugin as late
from astrbot_plugin_scoped_memory.core.plugin import Code, Plugin
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

SAY = Texts("zh-CN").say


class Made:
    """Parts whose commands answer ``reply``. ``heard``: which hooks of a turn were called."""

    off = ""

    def __init__(self, reply: str | None = None) -> None:
        self.plugin = object()
        self.commands = SimpleNamespace(answer=self._answer, list=None)
        self.mind = self
        self.asked = 0
        self.heard: list[str] = []
        self._reply = reply

    async def _answer(self, _: object, __: object) -> str | None:
        self.asked += 1
        return self._reply

    def __getattr__(self, name: str) -> Any:
        async def hook(*_: Any) -> None:
            self.heard.append(name)

        return hook

    async def close(self) -> None:
        """Nothing is open."""


class _Plugin(Plugin):
    """Over parts that come from ``made`` one after the other."""

    def __init__(self, made: Iterator[Any]) -> None:
        super().__init__(None, {}, Path(), lambda: cast("Code", None))
        self.parts_to_come = made

    async def _made(self, _: Code, __: bool) -> Any:
        return next(self.parts_to_come)


class Bot:
    """AstrBot's view of the plugin, over parts that come from ``made`` one after the other."""

    def __init__(self, *made: Any) -> None:
        self.star: Any = object.__new__(main.ScopedMemoryPlugin)
        self.parts = self.star.plugin = _Plugin(iter(made))

    async def command(self, name: str) -> list[str]:
        """What a command is answered."""
        event: Any = FakeEvent.in_group(777, f"/memory {name}")
        return [await self.star.plugin.answer(event, name)]


async def test_a_command_that_finds_no_open_engine_is_answered_by_what_comes_next() -> None:
    closed = Made()
    bot = Bot(closed, Made("好"))
    await bot.parts.now()
    assert await bot.command("list") == [SAY("outcome.reloaded")]
    assert closed.asked == 1
    again = asyncio.create_task(bot.parts.again())
    await asyncio.sleep(0)
    assert await bot.command("list") == ["好"]
    await again


async def test_all_hooks_of_a_message_together_wait_once_for_what_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(late, "LOADING_SECONDS", 0.2)
    mind, goes_on = Made(), asyncio.Event()
    bot = Bot(Made(), mind)
    await bot.parts.now()
    again = asyncio.create_task(bot.parts.again(goes_on.wait))
    await asyncio.sleep(0)
    star, event, waited = bot.star, FakeEvent.in_group(777, "在吗"), list[float]()
    within = bot.parts.within

    async def noted(seconds: float) -> Any:
        waited.append(seconds)
        return await within(seconds)

    monkeypatch.setattr(bot.parts, "within", noted)
    await star.on_waiting_llm_request(event)
    await star.on_llm_request(event, None)
    assert waited == [0.2, pytest.approx(0.0, abs=0.01)]
    await star.on_agent_done(event, None, None)
    await star.on_llm_tool_respond(event, None, None, None)
    await star.on_after_message_sent(event)
    await star.on_group_chatter(event)
    assert mind.heard == []
    goes_on.set()
    await again
    await asyncio.gather(*star.plugin.telling)
    assert len(waited) > 2
    assert min(waited[2:]) >= 60  # behind the bot
    assert mind.heard == ["finished", "finished", "overheard"]
    await star.on_agent_done(event, None, None)
    assert mind.heard[3:] == ["finished"]


async def test_what_waits_behind_the_bot_ends_with_the_plugin() -> None:
    bot, stays = Bot(Made(), Made()), asyncio.Event()
    await bot.parts.now()
    again = asyncio.create_task(bot.parts.again(stays.wait))
    await asyncio.sleep(0)
    await bot.star.on_agent_done(FakeEvent.in_group(777, "在吗"), None, None)
    closing = asyncio.create_task(bot.parts.close())
    await asyncio.sleep(0)
    stays.set()
    await asyncio.gather(closing, again, *bot.star.plugin.telling)
    assert bot.parts.here is None


def test_what_ends_the_system_prompt_is_added_behind_what_other_plugins_add() -> None:
    """AstrBot calls the hook with the highest priority first; without one it has 0."""
    priorities = [
        handler.extras_configs["priority"]
        for handler in star_handlers_registry
        if (handler.handler_module_path, handler.handler_name) == (main.__name__, "on_llm_request")
    ]
    assert len(priorities) == 1
    assert priorities[0] < -1000
