"""How many of our own functions a call goes through, from AstrBot's hook to the store.

Counted are the frames of this package that stand at the store's own work, over tasks and threads.
A way may become shorter; who makes one longer says so here and in docs/house.md.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from astrbot.api.provider import ProviderRequest

from astrbot_plugin_scoped_memory.llm_memory.index.words import Words
from astrbot_plugin_scoped_memory.llm_memory.reflection.turn_store import SqliteTurnStore
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.core.turn.turns import answer
from astrbot_plugin_scoped_memory.tests.support.engines import running
from astrbot_plugin_scoped_memory.tests.support.plugin import (
    Desk,
    FakeEvent,
    holding,
    tool_context,
)
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin
from astrbot_plugin_scoped_memory.tools.core_memory_remember import core_memory_remember

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

OURS = tuple(
    str(Path(__file__).parents[2] / part) for part in ("main.py", "core", "tools", "llm_memory")
)
MOST = {"recall": 6, "remember": 6, "turn": 6, "command": 6}
"""With the store's own function; the hook of ``main.py`` or AstrBot's call of a tool comes before
each of them, and the file or SQL behind."""
WORDS, QUESTION = "奶奶对花生过敏", "奶奶能吃花生吗"
PARENTS: WeakKeyDictionary[asyncio.Task[Any], asyncio.Task[Any] | None] = WeakKeyDictionary()


def noted(loop: asyncio.AbstractEventLoop, coro: Any, **more: Any) -> asyncio.Task[Any]:
    """A task of which it is known in which one it was made."""
    task = asyncio.Task(coro, loop=loop, **more)
    PARENTS[task] = asyncio.current_task(loop)
    return task


def awaited(task: asyncio.Task[Any]) -> Iterator[CodeType]:
    """What a task that waits is in the midst of, the outermost first."""
    coro: Any = task.get_coro()
    while coro is not None and hasattr(coro, "cr_code"):
        yield coro.cr_code
        coro = coro.cr_await


def called() -> list[CodeType]:
    """What is being called in this thread, the outermost first."""
    frame: Any = sys._getframe(1)
    codes = []
    while frame is not None:
        codes.append(frame.f_code)
        frame = frame.f_back
    return codes[::-1]


def hops(name: str) -> list[str]:
    """Our own functions from the outermost task to here, a thread that the last one waits for. A
    pool's thread does not say who asks: it is a function of the same name, or the longest way."""
    ways = []
    for task in list(PARENTS):
        waiting = list[CodeType]()
        while task is not None:
            waiting = [*awaited(task), *waiting]
            task = PARENTS.get(task)
        ways.append([code for code in waiting if code.co_filename.startswith(OURS)])
    here = [code for code in called() if code.co_filename.startswith(OURS)]
    asking = max(ways, key=lambda way: ([one.co_name for one in way[-1:]] == [name], len(way)))
    return [code.co_qualname for code in (*asking, *here)]


@contextmanager
def followed() -> Iterator[None]:
    """All tasks of a step say who made them."""
    loop = asyncio.get_running_loop()
    PARENTS.clear()
    loop.set_task_factory(noted)
    try:
        yield
    finally:
        loop.set_task_factory(None)


async def gone(step: Coroutine[Any, Any, object]) -> None:
    """Take a step in a task of its own."""
    with followed():
        await asyncio.get_running_loop().create_task(step)


def to(monkeypatch: pytest.MonkeyPatch, store: type, name: str) -> list[list[str]]:
    """The ways to a method of a store, as they are gone from now on."""
    ways: list[list[str]] = []
    method = getattr(store, name)

    def met(*given: Any, **named: Any) -> Any:
        ways.append([*hops(name), method.__qualname__])
        return method(*given, **named)

    monkeypatch.setattr(store, name, met)
    return ways


async def test_no_way_to_the_store_becomes_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched, queued = (
        to(monkeypatch, Words, "search"),
        to(monkeypatch, SqliteTurnStore, "put"),
    )
    appended, archived = (
        to(monkeypatch, MarkdownVault, name) for name in ("append", "archive_many")
    )
    async with running(tmp_path, follow=False) as rig:
        plugin = TurnPlugin(rig)
        event, tool = FakeEvent.in_group(777, WORDS), core_memory_remember(source=holding(plugin))
        await gone(tool.call(tool_context(event), judgment=WORDS))
        await rig.until_words()
        asked = FakeEvent.in_group(777, QUESTION)
        await gone(plugin.mind.before_request(asked, ProviderRequest(prompt=QUESTION)))
        await gone(plugin.finished(asked, answer("不能")))
        desk = Desk(rig)
        await desk("list")
        await gone(desk("forget 1"))
    ways = {
        "recall": searched[-1],
        "remember": appended[0],
        "turn": queued[0],
        "command": archived[0],
    }
    assert {name: way for name, way in ways.items() if len(way) > MOST[name]} == {}
