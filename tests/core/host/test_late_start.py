"""AstrBot's start is not held up by the plugin's modules, and nobody meets half a plugin; what its
hooks do while the parts behind them are made anew."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import AsyncMock

import checkout
import pytest
from astrbot.core.star.star_handler import star_handlers_registry

from astrbot_plugin_scoped_memory import main
from astrbot_plugin_scoped_memory.core import plugin as late
from astrbot_plugin_scoped_memory.core.plugin import Code, Plugin
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.laws.turned_clock import TurnedLoop, turned
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

A_WHILE = 5.0
"""Of a time that passes only where nobody has anything left to do."""
LONG = 180.0


class Made:
    """What is made; closes on ``may``, and then does as ``fails`` says."""

    def __init__(self) -> None:
        self.may = asyncio.Event()
        self.may.set()
        self.closings = 0
        self.fails = False

    async def close(self) -> None:
        await self.may.wait()
        self.closings += 1
        if self.fails:
            raise ValueError("坏了")


class Late(Plugin):
    """Over parts that a test holds. ``slow``: it loads until it is let go."""

    def __init__(self, loop: TurnedLoop) -> None:
        self.loop = loop
        self.slow = False
        self.broken = ""
        self.astrbot = SimpleNamespace(inst_map={"one": None})
        self.threads: list[threading.Thread] = []
        self.parts: list[Made] = []
        self.faults: list[str] = []
        context = SimpleNamespace(provider_manager=self.astrbot)
        super().__init__(context, {}, Path(), self._import)

    def _import(self) -> Any:
        self.threads.append(threading.current_thread())
        if self.broken:
            raise ImportError(self.broken)
        if self.slow:
            self.loop.rest(None)

    async def _opened(self, _: object) -> Any:
        await asyncio.sleep(0)
        self.parts.append(Made())
        return self.parts[-1]

    def why_not(self) -> str:
        self.faults.append(self.fault)
        return self.fault

    async def starts(self) -> None:
        """With AstrBot, which has loaded no provider yet."""
        self.astrbot.inst_map = {}
        await self.begin()

    async def held(self) -> Made:
        """The first parts, which are about to be closed for the next, and cannot be yet."""
        await self.begin()
        (old,) = self.parts
        old.may.clear()
        return old


type Story = Callable[[Late], Coroutine[None, None, None]]


def told(story: Story) -> Callable[[], None]:
    """A story as a test, on a loop whose time is turned by hand."""

    async def begin(loop: TurnedLoop) -> None:
        await story(Late(loop))

    return lambda: turned(begin)


@told
async def test_nothing_is_loaded_before_astrbot_is_up_and_then_off_the_loop(late: Late) -> None:
    """Who asks shows that it is up, and waits no longer than it said."""
    late.slow = True
    await late.starts()
    await asyncio.sleep(A_WHILE)
    assert not late.threads
    assert await late.within(A_WHILE) is None
    assert late.loop.time() == 2 * A_WHILE
    assert late.threads != [threading.main_thread()]
    late.loop.let_go()
    assert await late.within(LONG) is late.here is cast("Any", late.parts[0])


@pytest.mark.parametrize("says", [True, False])
def test_an_astrbot_that_never_says_so_is_taken_to_be_up_but_not_after_a_close(says: bool) -> None:
    @told
    async def story(late: Late) -> None:
        await late.starts()
        if says:
            await late.close()
            late.up.set()
        await asyncio.sleep(LONG)
        assert len(late.threads) == (not says)

    story()


@pytest.mark.parametrize("ends", [False, True])
def test_a_reload_is_over_when_all_is_made_and_who_asks_or_closes_waits(ends: bool) -> None:
    """Behind who closes nothing is made."""

    @told
    async def story(late: Late) -> None:
        late.slow = True
        reload = asyncio.create_task(late.begin())
        await asyncio.sleep(A_WHILE)
        meanwhile = asyncio.create_task(late.close() if ends else late.within(LONG))
        await asyncio.sleep(A_WHILE)
        assert not meanwhile.done()
        assert ends or not reload.done()
        late.loop.let_go()
        await asyncio.gather(reload, meanwhile, return_exceptions=ends)
        assert len(late.parts) == (not ends)
        assert late.here is await late.within(A_WHILE)
        assert late.here is (None if ends else cast("Any", late.parts[0]))

    story()


@told
async def test_what_fails_is_raised_in_a_reload_and_told_after_a_start(late: Late) -> None:
    late.broken = "没有这个模块"
    with pytest.raises(ImportError):
        await late.begin()
    assert late.faults == []
    await late.starts()
    assert await late.within(LONG) is None
    assert late.faults == [late.fault] == ["ImportError: 没有这个模块"]


@told
async def test_again_closes_the_old_before_the_new_and_who_asks_waits_for_it(late: Late) -> None:
    """What is done between finds the old closed, and nothing new; of two at once the second closes
    what the first has made."""
    seen: list[tuple[int, int, object]] = []

    async def between() -> None:
        for _ in range(2):
            seen.append((sum(made.closings for made in late.parts), len(late.parts), late.here))
            await asyncio.sleep(A_WHILE)

    old = await late.held()
    both = [asyncio.create_task(late.again(between)) for _ in range(2)]
    asking = asyncio.create_task(late.within(LONG))
    await asyncio.sleep(A_WHILE)
    assert (late.here, old.closings, len(late.parts), asking.done()) == (None, 0, 1, False)
    old.may.set()
    assert await asking is cast("Any", late.parts[2])
    await asyncio.gather(*both)
    for _ in range(2):  # what was made is closed once
        await late.close()
    await late.again(between)
    assert seen == [(1, 1, None)] * 2 + [(2, 2, None)] * 2
    assert [made.closings for made in late.parts] == [1, 1, 1]
    assert late.here is None


@told
async def test_a_step_that_fails_is_told_and_what_comes_next_is_made_anyway(late: Late) -> None:
    async def fail() -> None:
        raise ValueError("坏了")

    await late.begin()
    late.parts[0].fails = True
    await late.again()
    await late.again(fail)
    assert late.faults == ["ValueError: 坏了"] * 2
    assert late.here is cast("Any", late.parts[2])
    assert late.fault == ""


@told
async def test_who_closes_meanwhile_waits_for_the_old_and_nothing_new_is_made(late: Late) -> None:
    old = await late.held()
    two = [asyncio.create_task(late.again()) for _ in range(2)]
    await asyncio.sleep(A_WHILE)
    closing = asyncio.create_task(late.close())
    await asyncio.sleep(A_WHILE)
    assert not closing.done()
    old.may.set()
    await asyncio.gather(closing, *two)
    await late.again()
    assert (old.closings, len(late.parts), late.here) == (1, 1, None)


def test_the_plugins_own_module_leaves_the_engine_for_later() -> None:
    """AstrBot imports it while it starts, and goes on when that is done."""
    name = checkout.NAME
    code = (
        f"import sys; sys.path.insert(0, {str(checkout.ROOT / 'scripts')!r}); import checkout; "
        f"checkout.register(); import {name}.main; "
        f"print('loaded', *(n for n in sys.modules if n.startswith('{name}.')))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.splitlines()[-1].split()
    assert f"{name}.core.plugin" in loaded
    engine = {one for one in loaded if one.startswith(f"{name}.llm_memory")}
    assert engine <= {f"{name}.llm_memory", f"{name}.llm_memory.texts"}


SAY = Texts("zh-CN").say


def loaded(reply: str | None = None, fault: Exception | None = None) -> SimpleNamespace:
    """Parts whose commands answer ``reply``, and whose hooks raise ``fault``."""
    mind = AsyncMock()
    mind.finished.side_effect = mind.sent.side_effect = fault
    commands = SimpleNamespace(answer=AsyncMock(return_value=reply))
    return SimpleNamespace(mind=mind, commands=commands, close=AsyncMock())


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
    bot = Bot(loaded(), loaded("好"))
    await bot.begin()
    assert await bot.answer(bot.event, "list") == SAY("outcome.reloaded")
    again = await bot.is_made_anew()
    assert await bot.answer(bot.event, "list") == "好"
    await again


async def test_a_message_waits_once_for_what_is_made_and_what_is_kept_of_it_behind_the_bot(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for seconds in ("LOADING_SECONDS", "ANEW_SECONDS"):
        monkeypatch.setattr(main, seconds, 0.01)
    made, goes_on = loaded(fault=RuntimeError("whatever it was")), asyncio.Event()
    bot = Bot(loaded(), made)
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
    assert made.mind.method_calls == []
    goes_on.set()
    await again
    await asyncio.gather(*late.TELLING)
    heard = [name for name, *_ in made.mind.method_calls]
    assert heard == ["finished", "finished", "sent", "finished"]
    assert caplog.text.count("whatever it was") == 4


async def test_a_turn_that_finds_a_closed_engine_is_told_by_the_next_one() -> None:
    """Also one that comes while there is none."""
    closed, following, last = loaded(), loaded(), loaded()
    bot, going_on = Bot(closed, following, last), []

    async def close(*_: object) -> bool:
        going_on.append(await bot.is_made_anew())
        return False

    closed.mind.before_request.side_effect = close
    await bot.begin()
    await bot.star.on_llm_request(bot.event, None)
    again = await bot.is_made_anew()
    await bot.star.on_llm_request(bot.event, None)
    await asyncio.gather(again, *going_on)
    for parts in (following, last):
        parts.mind.before_request.assert_awaited_once()


async def test_what_waits_behind_the_bot_ends_with_the_plugin() -> None:
    bot, stays = Bot(loaded(), loaded()), asyncio.Event()
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
