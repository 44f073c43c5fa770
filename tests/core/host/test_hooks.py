"""What AstrBot's hooks do while the parts behind them are made anew."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import AsyncMock

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
    """Parts whose commands answer ``reply``. ``heard``: which hooks of a turn were called; then
    ``fault`` is raised."""

    def __init__(self, reply: str | None = None, fault: Exception | None = None) -> None:
        self.mind = self
        self.commands = SimpleNamespace(answer=AsyncMock(return_value=reply))
        self.heard: list[str] = []
        self.close = AsyncMock()
        self._fault = fault

    def __getattr__(self, name: str) -> Any:
        async def hook(*_: Any) -> None:
            self.heard.append(name)
            if self._fault is not None:
                raise self._fault

        return hook


class Bot(Plugin):
    """AstrBot's view of the plugin, over parts that come from ``made`` one after the other."""

    def __init__(self, *made: Any) -> None:
        astrbot = SimpleNamespace(provider_manager=SimpleNamespace(inst_map={"one": None}))
        super().__init__(astrbot, {}, Path(), lambda: cast("Code", None))
        self._to_come = iter(made)
        self.star: Any = object.__new__(main.ScopedMemoryPlugin)
        self.star.plugin = self
        self.event: Any = FakeEvent.in_group(777, "在吗")

    async def _opened(self, _: Code) -> Any:
        return next(self._to_come)

    async def is_made_anew(self, between: Any = None) -> asyncio.Task[None]:
        """It has begun."""
        again = asyncio.create_task(self.again(between))
        await asyncio.sleep(0)
        return again


async def test_a_command_waits_for_what_comes_and_says_so_where_it_finds_a_closed_engine() -> None:
    bot = Bot(Made(), Made("好"))
    await bot.begin()
    assert await bot.answer(bot.event, "list") == SAY("outcome.reloaded")
    again = await bot.is_made_anew()
    assert await bot.answer(bot.event, "list") == "好"
    await again


async def test_a_message_waits_once_for_what_is_made_and_what_is_kept_of_it_behind_the_bot(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(main, "LOADING_SECONDS", 0.01)
    mind, goes_on = Made(fault=RuntimeError("whatever it was")), asyncio.Event()
    bot = Bot(Made(), mind)
    await bot.begin()
    again = await bot.is_made_anew(goes_on.wait)
    star, event = bot.star, bot.event
    for hook, *given in (
        (star.on_waiting_llm_request,),
        (star.on_llm_request, None),
        (star.on_agent_done, None, None),
        (star.on_llm_tool_respond, None, None, None),
        (star.on_after_message_sent,),
        (star.on_group_chatter,),
    ):
        await hook(event, *given)
    assert mind.heard == []
    goes_on.set()
    await again
    await asyncio.gather(*late.TELLING)
    assert mind.heard == ["finished", "finished", "sent", "finished"]
    assert caplog.text.count("whatever it was") == 4


async def test_what_waits_behind_the_bot_ends_with_the_plugin() -> None:
    bot, stays = Bot(Made(), Made()), asyncio.Event()
    await bot.begin()
    again = await bot.is_made_anew(stays.wait)
    await bot.star.on_agent_done(bot.event, None, None)
    closing = asyncio.create_task(bot.close())
    await asyncio.sleep(0)
    stays.set()
    await asyncio.gather(closing, again, *late.TELLING)
    assert bot.here is None


def test_what_ends_the_system_prompt_is_added_behind_what_other_plugins_add() -> None:
    """AstrBot calls the hook with the highest priority first; without one it has 0."""
    priorities = [
        handler.extras_configs["priority"]
        for handler in star_handlers_registry
        if (handler.handler_module_path, handler.handler_name) == (main.__name__, "on_llm_request")
    ]
    assert len(priorities) == 1
    assert priorities[0] < -1000
