"""AstrBot's start is not held up by the plugin's modules, and nobody meets half a plugin."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import checkout
import pytest

from astrbot_plugin_scoped_memory.core.host import late_start
from astrbot_plugin_scoped_memory.core.host.late_start import LateStart
from astrbot_plugin_scoped_memory.harness.waiting import until_true as until
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, chosen_language

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

LONG = 30.0


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
    """Loads on ``may``; notes where it loaded and what was made of it."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.began = threading.Event()
        self.threads: list[threading.Thread] = []
        self.made: list[tuple[str, bool]] = []
        self.parts: list[Made] = []

    def load(self) -> str:
        self.threads.append(threading.current_thread())
        self.began.set()
        assert self.may.wait(LONG)
        return "code"

    async def make(self, code: str, just_started: bool) -> Made:
        await asyncio.sleep(0)
        self.made.append((code, just_started))
        self.parts.append(Made())
        return self.parts[-1]


@pytest.fixture
def making() -> Making:
    return Making()


@pytest.fixture
def late(making: Making) -> LateStart[str, Made]:
    return LateStart(making.load, making.make, lambda _: pytest.fail("nothing fails here"))


async def test_nothing_is_loaded_before_astrbot_is_up_and_then_off_the_event_loop(
    making: Making, late: LateStart[str, Made]
) -> None:
    late.later()
    await asyncio.sleep(0.05)
    assert not making.threads
    late.astrbot_is_up()
    await until(making.began.is_set)
    assert late.here is None
    making.may.set()
    assert await late.within(LONG) is late.here is making.parts[0]
    assert making.made == [("code", True)]
    assert making.threads != [threading.main_thread()]


async def test_who_asks_shows_that_astrbot_is_up_and_waits_no_longer_than_it_said(
    making: Making, late: LateStart[str, Made]
) -> None:
    late.later()
    assert await late.within(0.01) is None
    await until(making.began.is_set)
    making.may.set()
    assert await late.within(LONG) is making.parts[0]


async def test_an_astrbot_that_never_says_so_is_taken_to_be_up(
    making: Making, late: LateStart[str, Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_start, "_UP_SECONDS", 0.01)
    making.may.set()
    late.later()
    await until(lambda: late.here is not None)
    assert making.made == [("code", False)]


async def test_a_reload_is_over_when_all_is_made_and_who_asks_meanwhile_waits(
    making: Making, late: LateStart[str, Made]
) -> None:
    reload = asyncio.create_task(late.now())
    await until(making.began.is_set)
    asking = asyncio.create_task(late.within(LONG))
    await asyncio.sleep(0.05)
    assert not reload.done()
    assert not asking.done()
    making.may.set()
    await reload
    assert (late.here, making.made) == (making.parts[0], [("code", False)])
    assert await asking is late.here


async def test_what_fails_is_raised_in_a_reload_and_told_after_a_start() -> None:
    def load() -> str:
        raise ImportError("没有这个模块")

    async def make(_: str, __: bool) -> Made:
        raise AssertionError("nothing was loaded")

    told: list[str] = []
    with pytest.raises(ImportError):
        await LateStart(load, make, told.append).now()
    assert told == []
    late = LateStart(load, make, told.append)
    late.later()
    assert await late.within(LONG) is None
    assert told == [late.fault] == ["ImportError: 没有这个模块"]
    await late.close()


async def test_who_closes_meanwhile_waits_for_the_import_and_nothing_is_made(
    making: Making, late: LateStart[str, Made]
) -> None:
    late.later()
    late.astrbot_is_up()
    await until(making.began.is_set)
    closing = asyncio.create_task(late.close())
    await asyncio.sleep(0.05)
    assert not closing.done()
    making.may.set()
    await closing
    assert (making.made, late.here) == ([], None)
    assert await late.within(0.01) is None


async def test_who_closes_before_the_start_stops_it(
    making: Making, late: LateStart[str, Made]
) -> None:
    late.later()
    await late.close()
    late.astrbot_is_up()
    await asyncio.sleep(0.05)
    assert not making.threads


async def test_what_was_made_is_closed_once(making: Making, late: LateStart[str, Made]) -> None:
    making.may.set()
    await late.now()
    await late.close()
    await late.close()
    assert (late.here, making.parts[0].closings) == (None, 1)


async def test_again_closes_the_old_before_it_makes_the_new_and_who_asks_waits_for_it(
    making: Making, late: LateStart[str, Made]
) -> None:
    making.may.set()
    late.later()
    old = await late.within(LONG)
    assert old is not None
    old.may.clear()
    again = asyncio.create_task(late.again())
    await until(lambda: late.here is None)
    asking = asyncio.create_task(late.within(LONG))
    await asyncio.sleep(0.05)
    assert (old.closings, len(making.parts), asking.done()) == (0, 1, False)
    old.may.set()
    assert await asking is making.parts[1]
    await again
    assert (old.closings, making.parts[1].closings) == (1, 0)


async def test_what_is_done_between_finds_the_old_closed_and_nothing_new(
    making: Making, late: LateStart[str, Made]
) -> None:
    making.may.set()
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


async def test_of_two_at_once_the_second_closes_what_the_first_has_made(
    making: Making, late: LateStart[str, Made]
) -> None:
    making.may.set()
    await late.now()
    open_between: list[int] = []

    async def between() -> None:
        open_between.append(sum(not made.closings for made in making.parts))
        await asyncio.sleep(0.01)
        open_between.append(sum(not made.closings for made in making.parts))

    both = asyncio.gather(late.again(between), late.again(between))
    await until(lambda: late.here is None)
    assert await late.within(LONG) is making.parts[2]
    await both
    assert open_between == [0, 0, 0, 0]
    assert late.here is making.parts[2]
    await late.close()
    assert [made.closings for made in making.parts] == [1, 1, 1]


async def test_who_waits_for_another_to_finish_makes_nothing_after_a_close(
    making: Making, late: LateStart[str, Made]
) -> None:
    making.may.set()
    await late.now()
    (old,) = making.parts
    old.may.clear()
    both = [asyncio.create_task(late.again()) for _ in range(2)]
    await until(lambda: late.here is None)
    closing = asyncio.create_task(late.close())
    await asyncio.sleep(0.01)
    old.may.set()
    await asyncio.gather(closing, *both)
    assert (old.closings, len(making.parts), late.here) == (1, 1, None)


async def test_who_closes_while_it_is_made_anew_waits_for_the_old_and_nothing_new_is_made(
    making: Making, late: LateStart[str, Made]
) -> None:
    making.may.set()
    await late.now()
    (old,) = making.parts
    old.may.clear()
    again = asyncio.create_task(late.again())
    await until(lambda: late.here is None)
    closing = asyncio.create_task(late.close())
    await asyncio.sleep(0.05)
    assert not closing.done()
    old.may.set()
    await closing
    await again
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
    assert f"{name}.core.host.late_start" in loaded
    engine = {one for one in loaded if one.startswith(f"{name}.llm_memory")}
    assert engine <= {f"{name}.llm_memory", f"{name}.llm_memory.texts"}
