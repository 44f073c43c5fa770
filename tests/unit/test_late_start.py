"""AstrBot's start is not held up by the plugin's modules, and nobody meets half a plugin."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from astrbot_plugin_scoped_memory.core import late_start
from astrbot_plugin_scoped_memory.core.late_start import LateStart
from astrbot_plugin_scoped_memory.core.texts import LANGUAGES, chosen_language

LONG = 30.0


class Making:
    """Loads on ``may``; notes where it loaded and what was made of it."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.began = threading.Event()
        self.threads: list[threading.Thread] = []
        self.made: list[tuple[str, bool]] = []

    def load(self) -> str:
        self.threads.append(threading.current_thread())
        self.began.set()
        assert self.may.wait(LONG)
        return "code"

    async def make(self, code: str, just_started: bool) -> str:
        await asyncio.sleep(0)
        self.made.append((code, just_started))
        return "parts"


@pytest.fixture
def making() -> Making:
    return Making()


@pytest.fixture
def late(making: Making) -> LateStart[str, str]:
    return LateStart(making.load, making.make, lambda _: pytest.fail("nothing fails here"))


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(LONG):
        while not reached():  # noqa: ASYNC110  (the parts know no event)
            await asyncio.sleep(0.001)


async def test_nothing_is_loaded_before_astrbot_is_up_and_then_off_the_event_loop(
    making: Making, late: LateStart[str, str]
) -> None:
    late.later()
    await asyncio.sleep(0.05)
    assert not making.threads
    late.astrbot_is_up()
    await until(making.began.is_set)
    assert late.here is None
    making.may.set()
    assert await late.within(LONG) == late.here == "parts"
    assert making.made == [("code", True)]
    assert making.threads != [threading.main_thread()]


async def test_who_asks_shows_that_astrbot_is_up_and_waits_no_longer_than_it_said(
    making: Making, late: LateStart[str, str]
) -> None:
    late.later()
    assert await late.within(0.01) is None
    await until(making.began.is_set)
    making.may.set()
    assert await late.within(LONG) == "parts"


async def test_an_astrbot_that_never_says_so_is_taken_to_be_up(
    making: Making, late: LateStart[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_start, "_UP_SECONDS", 0.01)
    making.may.set()
    late.later()
    await until(lambda: late.here is not None)
    assert making.made == [("code", False)]


async def test_a_reload_is_over_when_all_is_made_and_who_asks_meanwhile_waits(
    making: Making, late: LateStart[str, str]
) -> None:
    reload = asyncio.create_task(late.now())
    await until(making.began.is_set)
    asking = asyncio.create_task(late.within(LONG))
    await asyncio.sleep(0.05)
    assert not reload.done()
    assert not asking.done()
    making.may.set()
    await reload
    assert (late.here, making.made) == ("parts", [("code", False)])
    assert await asking == "parts"


async def test_what_fails_is_raised_in_a_reload_and_told_after_a_start() -> None:
    def load() -> str:
        raise ImportError("没有这个模块")

    async def make(_: str, __: bool) -> str:
        raise AssertionError("nothing was loaded")

    told: list[str] = []
    with pytest.raises(ImportError):
        await LateStart(load, make, told.append).now()
    assert told == []
    late = LateStart(load, make, told.append)
    late.later()
    assert await late.within(LONG) is None
    assert told == [late.fault] == ["ImportError: 没有这个模块"]
    assert await late.close() is None


async def test_who_closes_meanwhile_waits_for_the_import_and_nothing_is_made(
    making: Making, late: LateStart[str, str]
) -> None:
    late.later()
    late.astrbot_is_up()
    await until(making.began.is_set)
    closing = asyncio.create_task(late.close())
    await asyncio.sleep(0.05)
    assert not closing.done()
    making.may.set()
    assert await closing is None
    assert (making.made, late.here) == ([], None)
    assert await late.within(0.01) is None


async def test_who_closes_before_the_start_stops_it(
    making: Making, late: LateStart[str, str]
) -> None:
    late.later()
    assert await late.close() is None
    late.astrbot_is_up()
    await asyncio.sleep(0.05)
    assert not making.threads


async def test_what_was_made_is_handed_out_once_to_be_closed(
    making: Making, late: LateStart[str, str]
) -> None:
    making.may.set()
    await late.now()
    assert [await late.close(), await late.close()] == ["parts", None]


def test_a_text_can_be_said_before_the_config_is_read() -> None:
    for config in (None, {}, {"language": "克林贡语"}, {"language": ["en-US"]}):
        assert chosen_language(config) == LANGUAGES[0]
    assert chosen_language({"language": "en-US"}) == "en-US"
