"""A store that the first program owns and the others follow, in one process with real servers."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until_true as until
from astrbot_plugin_scoped_memory.llm_memory import ConversationId
from astrbot_plugin_scoped_memory.llm_memory.errors import (
    EngineClosed,
    EngineOff,
    NoOwner,
    OwnerGone,
    ScopedMemoryError,
)
from astrbot_plugin_scoped_memory.llm_memory.home.shared_store import SharedStore
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import NotVisible
from astrbot_plugin_scoped_memory.llm_memory.models.recall import FileText, PointerNotVisible
from astrbot_plugin_scoped_memory.llm_memory.sharing.endpoint import FILE_NAME, Endpoint
from astrbot_plugin_scoped_memory.llm_memory.sharing.server import SharingServer
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import DirectoryLock

pytestmark = pytest.mark.engine

HOME = ConversationId.parse("mcp:global:home")


class Memory:
    """Answers reads with its own name, as slowly as it is told."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked = 0
        self.seconds = 0.0
        self.error: Exception | None = None

    async def read(self, where: str, **_: object) -> FileText | PointerNotVisible:
        if not where:
            return PointerNotVisible(where)  # as a follower knocks
        self.asked += 1
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        return FileText(where, self.name)

    async def restore(self, memory_id: str = "", **_: object) -> NotVisible:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return NotVisible(memory_id)


class Opened:
    """What a process opens that gets the lock: a memory with a server."""

    def __init__(self, folder: Path, name: str, error: Exception | None = None) -> None:
        made: Any = Memory(name)
        self.memory = self.owner = made
        self.closed = False
        self._folder = folder
        self._lock = DirectoryLock(folder)
        self._server = SharingServer(made, folder, owner=made)
        self._error = error

    async def open(self) -> None:
        self._lock.acquire()
        if self._error is not None:
            self._lock.release()
            raise self._error
        endpoint = await self._server.open()
        # The owner is another process to those who follow it.
        Endpoint(endpoint.host, endpoint.port, endpoint.token, os.getpid() + 1).write(self._folder)

    async def close(self) -> None:
        self.closed = True
        await self._server.close()
        (self._folder / FILE_NAME).unlink(missing_ok=True)
        self._lock.release()


def opening(*made: Opened) -> Callable[[], Awaitable[Any]]:
    """Makes one after another."""
    waiting = list(made)

    async def own() -> Opened:
        return waiting.pop(0)

    return own


async def test_the_second_follows_and_takes_over(tmp_path: Path) -> None:
    first = SharedStore(tmp_path, tmp_path, opening(Opened(tmp_path, "first")))
    second = SharedStore(tmp_path, tmp_path, opening(Opened(tmp_path, "second")))
    assert await first.memory.read("x", conversation_id=HOME) == FileText("x", "first")
    assert await second.memory.read("x", conversation_id=HOME) == FileText("x", "first")
    await first.close()
    async with asyncio.timeout(30):
        assert await second.memory.read("x", conversation_id=HOME) == FileText("x", "second")
    await second.close()


async def test_many_calls_at_once_open_it_once(tmp_path: Path) -> None:
    store = SharedStore(tmp_path, tmp_path, opening(Opened(tmp_path, "one")))
    answers = await asyncio.gather(
        *(store.memory.read(str(n), conversation_id=HOME) for n in range(1, 51))
    )
    assert [answer.path for answer in answers if isinstance(answer, FileText)] == [
        str(n) for n in range(1, 51)
    ]
    await store.close()


async def test_many_calls_survive_the_owners_end(tmp_path: Path) -> None:
    old = Opened(tmp_path, "old")
    owner = SharedStore(tmp_path, tmp_path, opening(old))
    await owner.memory.read("x", conversation_id=HOME)
    follower = SharedStore(tmp_path, tmp_path, opening(Opened(tmp_path, "new")))
    await follower.memory.read("x", conversation_id=HOME)
    old.memory.error = EngineClosed("closing")
    calls = [
        asyncio.create_task(follower.memory.read(f"{n}", conversation_id=HOME))
        for n in range(1, 21)
    ]
    await until(lambda: old.memory.asked >= len(calls))
    await owner.close()
    assert {
        answer.text for answer in await asyncio.gather(*calls) if isinstance(answer, FileText)
    } == {"new"}
    await follower.close()


async def test_what_the_owner_asks_is_asked_once(tmp_path: Path) -> None:
    """An undo that is cut off may be done, and a second one would take back something else."""
    old, new = Opened(tmp_path, "old"), Opened(tmp_path, "new")
    owner = SharedStore(tmp_path, tmp_path, opening(old))
    await owner.memory.read("x", conversation_id=HOME)
    follower = SharedStore(tmp_path, tmp_path, opening(new))
    await follower.memory.read("x", conversation_id=HOME)
    old.memory.error = EngineClosed("closing")
    with pytest.raises(NoOwner, match="may have done it"):
        await follower.owner.restore(conversation_id=HOME)
    assert old.memory.asked == 3
    await owner.close()
    assert await follower.owner.restore("m-1234", conversation_id=HOME) == NotVisible("m-1234")
    assert new.memory.asked == 1
    await follower.close()


async def test_what_could_not_be_opened_is_tried_again(tmp_path: Path) -> None:
    faults: list[Exception] = [
        EngineOff("format_newer", "memory: format 99"),
        PermissionError(13, "Permission denied"),
        ImportError("No module named 'numpy'"),
    ]
    made = [Opened(tmp_path, "", error) for error in faults]
    store = SharedStore(tmp_path, tmp_path, opening(*made, Opened(tmp_path, "at last")))
    for error in faults:
        with pytest.raises(type(error)):
            await store.memory.read("x", conversation_id=HOME)
    assert await store.memory.read("x", conversation_id=HOME) == FileText("x", "at last")
    await store.close()


async def test_a_fault_that_nobody_waits_for_leaves_no_noise(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = [Opened(tmp_path, "", EngineOff("format_newer")), Opened(tmp_path, "next")]
    store = SharedStore(tmp_path, tmp_path, opening(*made))
    before = asyncio.all_tasks()
    store.start()
    await until(lambda: asyncio.all_tasks() == before)
    assert await store.memory.read("x", conversation_id=HOME) == FileText("x", "next")
    await store.close()
    assert "never retrieved" not in caplog.text


async def test_without_an_owner_a_call_is_answered_in_time(tmp_path: Path) -> None:
    store = SharedStore(tmp_path, tmp_path, None, timeout=0.3)
    async with asyncio.timeout(30):
        with pytest.raises(NoOwner, match="no program has it open"):
            await store.memory.read("x", conversation_id=HOME)
    await store.close()


async def test_a_lock_that_is_held_by_a_program_without_a_server(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path)
    lock.acquire()
    store = SharedStore(tmp_path, tmp_path, opening(Opened(tmp_path, "mine")), timeout=0.3)
    with pytest.raises(NoOwner, match="does not answer"):
        await store.memory.read("x", conversation_id=HOME)
    lock.release()
    assert await store.memory.read("x", conversation_id=HOME) == FileText("x", "mine")
    await store.close()


async def test_a_file_left_by_a_dead_owner_is_passed_over(tmp_path: Path) -> None:
    Endpoint("127.0.0.1", 1, "x" * 43, 999_999).write(tmp_path)
    store = SharedStore(tmp_path, tmp_path, opening(Opened(tmp_path, "mine")))
    assert await store.memory.read("x", conversation_id=HOME) == FileText("x", "mine")
    await store.close()


async def test_an_owner_of_another_protocol_is_named(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path)
    lock.acquire()
    Endpoint("127.0.0.1", 1, "x" * 43, 999_999, 7).write(tmp_path)
    store = SharedStore(tmp_path, tmp_path, opening())
    with pytest.raises(NoOwner, match="protocol 7"):
        await store.memory.read("x", conversation_id=HOME)
    await store.close()
    lock.release()


async def test_what_is_refused_is_not_asked_again(tmp_path: Path) -> None:
    opened = Opened(tmp_path, "mine")
    owner = SharedStore(tmp_path, tmp_path, opening(opened))
    await owner.memory.read("x", conversation_id=HOME)
    follower = SharedStore(tmp_path, tmp_path, opening())
    opened.memory.error = KeyError("a fault of ours")
    opened.memory.asked = 0
    with pytest.raises(ScopedMemoryError) as caught:
        await follower.memory.read("x", conversation_id=HOME)
    assert not isinstance(caught.value, NoOwner | OwnerGone)
    assert opened.memory.asked == 1
    await follower.close()
    await owner.close()


async def test_a_closed_store_is_not_opened_again(tmp_path: Path) -> None:
    opened, spare = Opened(tmp_path, "mine"), Opened(tmp_path, "spare")
    store = SharedStore(tmp_path, tmp_path, opening(opened, spare))
    await store.memory.read("x", conversation_id=HOME)
    opened.memory.seconds, opened.memory.error = 0.1, EngineClosed("closed")
    under_way = asyncio.create_task(store.memory.read("x", conversation_id=HOME))
    await asyncio.sleep(0)
    await store.close()
    await store.close()
    with pytest.raises(NoOwner):
        await under_way
    store.start()
    with pytest.raises(NoOwner):
        await store.memory.read("x", conversation_id=HOME)
    assert opened.closed
    assert spare.memory.asked == 0
    DirectoryLock(tmp_path).acquire()  # nobody has it


async def test_closing_while_it_opens_lets_go_of_it(tmp_path: Path) -> None:
    begun = asyncio.Event()

    class Slow(Opened):
        async def open(self) -> None:
            await super().open()
            begun.set()
            await asyncio.sleep(60)

    slow = Slow(tmp_path, "slow")
    store = SharedStore(tmp_path, tmp_path, opening(slow))
    call = asyncio.create_task(store.memory.read("x", conversation_id=HOME))
    await begun.wait()
    await store.close()
    with pytest.raises(NoOwner):
        await call
    assert slow.closed
    DirectoryLock(tmp_path).acquire()


async def test_a_store_that_opens_at_the_last_moment_is_used(tmp_path: Path) -> None:
    class Blocking(Opened):
        async def open(self) -> None:
            await super().open()
            time.sleep(0.5)

    store = SharedStore(tmp_path, tmp_path, opening(Blocking(tmp_path, "late")), timeout=0.2)
    assert await store.memory.read("x", conversation_id=HOME) == FileText("x", "late")
    await store.close()
