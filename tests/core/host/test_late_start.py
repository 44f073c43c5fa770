"""AstrBot's start is not held up by the plugin's modules, and nobody meets half a plugin."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine

import checkout
import pytest

from astrbot_plugin_scoped_memory.core.host.late_start import LateStart
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, chosen_language
from astrbot_plugin_scoped_memory.tests.laws.turned_clock import TurnedLoop, turned

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

A_WHILE = 5.0
"""Of a time that passes only where nobody has anything left to do."""
LONG = 90.0


class Made:
    """What is made; closes on ``may``."""

    def __init__(self) -> None:
        self.may = asyncio.Event()
        self.may.set()
        self.closings = 0

    async def close(self) -> None:
        await self.may.wait()
        self.closings += 1


class Making:
    """Loads, where it is ``slow`` until it is let go; notes where it loaded and what was made."""

    def __init__(self, loop: TurnedLoop) -> None:
        self.loop = loop
        self.slow = False
        self.threads: list[threading.Thread] = []
        self.made: list[tuple[str, bool]] = []
        self.parts: list[Made] = []

    def load(self) -> str:
        self.threads.append(threading.current_thread())
        if self.slow:
            self.loop.rest(None)
        return "code"

    async def make(self, code: str, just_started: bool) -> Made:
        await asyncio.sleep(0)
        self.made.append((code, just_started))
        self.parts.append(Made())
        return self.parts[-1]

    async def held(self, late: Late) -> Made:
        """The first parts, which are about to be closed for the next, and cannot be yet."""
        await late.now()
        (old,) = self.parts
        old.may.clear()
        return old


type Late = LateStart[str, Made]
type Story = Callable[[Making, Late], Coroutine[None, None, None]]


def told(story: Story) -> Callable[[], None]:
    """A story as a test, on a loop whose time is turned by hand."""

    async def begin(loop: TurnedLoop) -> None:
        making = Making(loop)
        await story(making, LateStart(making.load, making.make, pytest.fail))

    return lambda: turned(begin)


@told
async def test_nothing_is_loaded_before_astrbot_is_up_and_then_off_the_event_loop(
    making: Making, late: Late
) -> None:
    making.slow = True
    late.later()
    await asyncio.sleep(A_WHILE)
    assert not making.threads
    late.astrbot_is_up()
    await asyncio.sleep(A_WHILE)
    assert late.here is None
    assert making.threads != [threading.main_thread()]
    making.loop.let_go()
    assert await late.within(LONG) is late.here is making.parts[0]
    assert making.made == [("code", True)]


@told
async def test_who_asks_shows_that_astrbot_is_up_and_waits_no_longer_than_it_said(
    making: Making, late: Late
) -> None:
    making.slow = True
    late.later()
    assert await late.within(A_WHILE) is None
    assert making.loop.time() == A_WHILE
    making.loop.let_go()
    assert await late.within(LONG) is making.parts[0]


@told
async def test_an_astrbot_that_never_says_so_is_taken_to_be_up(making: Making, late: Late) -> None:
    late.later()
    await asyncio.sleep(LONG)
    assert making.made == [("code", False)]


@told
async def test_a_reload_is_over_when_all_is_made_and_who_asks_meanwhile_waits(
    making: Making, late: Late
) -> None:
    making.slow = True
    reload = asyncio.create_task(late.now())
    asking = asyncio.create_task(late.within(LONG))
    await asyncio.sleep(A_WHILE)
    assert [reload.done(), asking.done()] == [False, False]
    making.loop.let_go()
    await reload
    assert (late.here, making.made) == (making.parts[0], [("code", False)])
    assert await asking is late.here


async def test_what_fails_is_raised_in_a_reload_and_told_after_a_start() -> None:
    def load() -> str:
        raise ImportError("没有这个模块")

    async def make(_: str, __: bool) -> Made:
        raise AssertionError("nothing was loaded")

    faults: list[str] = []
    with pytest.raises(ImportError):
        await LateStart(load, make, faults.append).now()
    assert faults == []
    late = LateStart(load, make, faults.append)
    late.later()
    assert await late.within(LONG) is None
    assert faults == [late.fault] == ["ImportError: 没有这个模块"]
    await late.close()


@told
async def test_who_closes_meanwhile_waits_for_the_import_and_nothing_is_made(
    making: Making, late: Late
) -> None:
    making.slow = True
    late.later()
    late.astrbot_is_up()
    await asyncio.sleep(A_WHILE)
    closing = asyncio.create_task(late.close())
    await asyncio.sleep(A_WHILE)
    assert not closing.done()
    making.loop.let_go()
    await closing
    assert (making.made, late.here, await late.within(A_WHILE)) == ([], None, None)


@told
async def test_who_closes_before_the_start_stops_it(making: Making, late: Late) -> None:
    late.later()
    await late.close()
    late.astrbot_is_up()
    await asyncio.sleep(LONG)
    assert not making.threads


@told
async def test_again_closes_the_old_before_it_makes_the_new_and_who_asks_waits_for_it(
    making: Making, late: Late
) -> None:
    old = await making.held(late)
    again = asyncio.create_task(late.again())
    asking = asyncio.create_task(late.within(LONG))
    await asyncio.sleep(A_WHILE)
    assert (late.here, old.closings, len(making.parts), asking.done()) == (None, 0, 1, False)
    old.may.set()
    assert await asking is making.parts[1]
    await again
    for _ in range(2):  # what was made is closed once
        await late.close()
    assert [made.closings for made in making.parts] == [1, 1]
    assert late.here is None


@told
async def test_what_is_done_between_finds_the_old_closed_and_nothing_new(
    making: Making, late: Late
) -> None:
    await late.now()
    seen: list[tuple[int, int, Made | None]] = []

    async def between() -> None:
        seen.append((making.parts[0].closings, len(making.parts), late.here))

    await late.again(between)
    assert seen == [(1, 1, None)]
    assert late.here is making.parts[1]
    await late.close()
    await late.again(between)
    assert len(seen) == 1


@pytest.mark.parametrize("failing", ["close", "between"])
async def test_a_step_that_fails_is_told_and_what_comes_next_is_made_all_the_same(
    failing: str,
) -> None:
    async def fail() -> None:
        raise ValueError("坏了")

    async def fine() -> None:
        pass

    parts = [Made(), Made()]
    made = iter(parts)

    async def make(_: None, __: bool) -> Made:
        return next(made)

    faults: list[str] = []
    late = LateStart(lambda: None, make, faults.append)
    await late.now()
    if failing == "close":
        parts[0].close = fail  # type: ignore[method-assign]
    await late.again(fail if failing == "between" else fine)
    assert (late.here, faults, late.fault) == (parts[1], ["ValueError: 坏了"], "")
    await late.close()


@told
async def test_of_two_at_once_the_second_closes_what_the_first_has_made(
    making: Making, late: Late
) -> None:
    await late.now()
    open_between: list[int] = []

    async def between() -> None:
        for _ in range(2):
            open_between.append(sum(not made.closings for made in making.parts))
            await asyncio.sleep(A_WHILE)

    both = asyncio.gather(late.again(between), late.again(between))
    await asyncio.sleep(0)
    assert await late.within(LONG) is making.parts[2]
    await both
    assert open_between == [0, 0, 0, 0]
    assert late.here is making.parts[2]
    await late.close()
    assert [made.closings for made in making.parts] == [1, 1, 1]


@told
async def test_who_closes_while_it_is_made_anew_waits_for_the_old_and_nothing_new_is_made(
    making: Making, late: Late
) -> None:
    old = await making.held(late)
    two = [asyncio.create_task(late.again()) for _ in range(2)]
    await asyncio.sleep(A_WHILE)
    closing = asyncio.create_task(late.close())
    await asyncio.sleep(A_WHILE)
    assert not closing.done()
    old.may.set()
    await asyncio.gather(closing, *two)
    await late.again()
    assert (old.closings, len(making.parts), late.here) == (1, 1, None)


def test_a_text_can_be_said_before_the_config_is_read() -> None:
    for config in (None, {}, {"language": "克林贡语"}, {"language": ["en-US"]}):
        assert chosen_language(config) == LANGUAGES[0]
    assert chosen_language({"language": "en-US"}) == "en-US"


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
