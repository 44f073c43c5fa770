"""A store that the first program owns and the others follow, in one process with real servers."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until_true as until
from astrbot_plugin_scoped_memory.llm_memory import ConversationId
from astrbot_plugin_scoped_memory.llm_memory.errors import (
    DirectoryInUse,
    EngineClosed,
    EngineOff,
    NoOwner,
    OwnerGone,
    ScopedMemoryError,
)
from astrbot_plugin_scoped_memory.llm_memory.home.shared_store import SharedStore
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Refused, absent
from astrbot_plugin_scoped_memory.llm_memory.models.recall import FileText
from astrbot_plugin_scoped_memory.llm_memory.sharing.endpoint import FILE_NAME, Endpoint
from astrbot_plugin_scoped_memory.llm_memory.sharing.server import SharingServer
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import DirectoryLock

pytestmark = pytest.mark.engine

HOME = ConversationId.parse("mcp:global:home")


class Memory:
    """Answers reads with its own name, once it may go on."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked = 0
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.error: Exception | None = None

    async def read(self, where: str, **_: object) -> FileText | Refused:
        if not where:
            return absent(where)  # as a follower knocks
        self.asked += 1
        await self.goes_on.wait()
        if self.error is not None:
            raise self.error
        return FileText(where, self.name)

    async def restore(self, memory_id: str = "", **_: object) -> Refused:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return absent(memory_id)


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
        try:
            self._lock.acquire()
        except DirectoryInUse as error:  # as an engine says it: whoever looks has it for a moment
            raise EngineOff("directory_in_use") from error
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


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Callable[..., SharedStore]]:
    """Makes a program's view of the one store; ``made`` is what it opens, one after another."""
    all_ = []

    def make(*made: Opened, own: bool = True, **options: float) -> SharedStore:
        opens: Any = opening(*made) if own else None
        all_.append(SharedStore(tmp_path, tmp_path, opens, **options))  # type: ignore[arg-type]
        return all_[-1]

    yield make
    for one in all_:
        await one.close()


async def read(store: SharedStore, where: str = "x") -> str:
    """The name of the memory that answers."""
    found = await store.memory.read(where, conversation_id=HOME)
    assert isinstance(found, FileText)
    assert found.path == where
    return found.text


type Stores = Callable[..., SharedStore]


async def test_many_calls_open_it_once_and_the_second_follows_and_takes_over(
    tmp_path: Path, store: Stores
) -> None:
    first, second = store(Opened(tmp_path, "first")), store(Opened(tmp_path, "second"))
    names = await asyncio.gather(*(read(first, str(n)) for n in range(1, 51)))
    assert set(names) == {"first"}
    assert await read(second) == "first"
    await first.close()
    assert await read(second) == "second"


async def test_many_calls_survive_the_owners_end(tmp_path: Path, store: Stores) -> None:
    old = Opened(tmp_path, "old")
    owner, follower = store(old), store(Opened(tmp_path, "new"))
    assert (await read(owner), await read(follower)) == ("old", "old")
    old.memory.error = EngineClosed("closing")
    calls = [asyncio.create_task(read(follower, f"{n}")) for n in range(1, 21)]
    await until(lambda: old.memory.asked >= len(calls))
    await owner.close()
    assert set(await asyncio.gather(*calls)) == {"new"}


async def test_what_the_owner_asks_is_asked_once(tmp_path: Path, store: Stores) -> None:
    """An undo that is cut off may be done, and a second one would take back something else."""
    old, new = Opened(tmp_path, "old"), Opened(tmp_path, "new")
    owner, follower = store(old), store(new)
    assert (await read(owner), await read(follower)) == ("old", "old")
    old.memory.error = EngineClosed("closing")
    with pytest.raises(NoOwner, match="may have done it"):
        await follower.owner.restore("m-1234", conversation_id=HOME)
    assert old.memory.asked == 3
    await owner.close()
    assert await follower.owner.restore("m-1234", conversation_id=HOME) == absent("m-1234")
    assert new.memory.asked == 1


async def test_what_could_not_be_opened_is_tried_again(tmp_path: Path, store: Stores) -> None:
    faults: list[Exception] = [
        EngineOff("format_newer", "memory: format 99"),
        PermissionError(13, "Permission denied"),
        ImportError("No module named 'numpy'"),
    ]
    made = [Opened(tmp_path, "", error) for error in faults]
    mine = store(*made, Opened(tmp_path, "at last"))
    for error in faults:
        with pytest.raises(type(error)):
            await read(mine)
    assert await read(mine) == "at last"


async def test_a_fault_that_nobody_waits_for_leaves_no_noise(
    tmp_path: Path, store: Stores, caplog: pytest.LogCaptureFixture
) -> None:
    mine = store(Opened(tmp_path, "", EngineOff("format_newer")), Opened(tmp_path, "next"))
    before = asyncio.all_tasks()
    mine.start()
    await until(lambda: asyncio.all_tasks() == before)
    assert await read(mine) == "next"
    assert "never retrieved" not in caplog.text


async def test_who_has_no_owner_is_told_why_in_time(tmp_path: Path, store: Stores) -> None:
    with pytest.raises(NoOwner, match="no program has it open"):
        await read(store(own=False, timeout=0.1))
    lock = DirectoryLock(tmp_path)
    lock.acquire()  # by a program without a server
    waiting = store(Opened(tmp_path, "never"), timeout=0.1)
    with pytest.raises(NoOwner, match="does not answer"):
        await read(waiting)
    await waiting.close()
    Endpoint("127.0.0.1", 1, "x" * 43, 999_999, 7).write(tmp_path)
    with pytest.raises(NoOwner, match="protocol 7"):
        await read(store())
    lock.release()
    Endpoint("127.0.0.1", 1, "x" * 43, 999_999).write(tmp_path)  # left by a dead one
    # The last look of the one that waited may fall into the first try.
    assert await read(store(*(Opened(tmp_path, "mine") for _ in range(2)))) == "mine"


async def test_who_meets_another_opener_tries_again(tmp_path: Path, store: Stores) -> None:
    met = Opened(tmp_path, "", EngineOff("directory_in_use"))
    assert await read(store(met, Opened(tmp_path, "next"))) == "next"


async def test_what_is_refused_is_not_asked_again(tmp_path: Path, store: Stores) -> None:
    opened = Opened(tmp_path, "mine")
    assert await read(store(opened)) == "mine"
    opened.memory.error = KeyError("a fault of ours")
    opened.memory.asked = 0
    with pytest.raises(ScopedMemoryError) as caught:
        await read(store())
    assert not isinstance(caught.value, NoOwner | OwnerGone)
    assert opened.memory.asked == 1


async def test_a_closed_store_is_not_opened_again(tmp_path: Path, store: Stores) -> None:
    opened, spare = Opened(tmp_path, "mine"), Opened(tmp_path, "spare")
    mine = store(opened, spare)
    await read(mine)
    opened.memory.goes_on.clear()
    opened.memory.error = EngineClosed("closed")
    under_way = asyncio.create_task(read(mine))
    await until(lambda: opened.memory.asked == 2)
    await mine.close()
    opened.memory.goes_on.set()
    with pytest.raises(NoOwner):
        await under_way
    mine.start()
    with pytest.raises(NoOwner):
        await read(mine)
    assert (opened.closed, spare.memory.asked) == (True, 0)
    DirectoryLock(tmp_path).acquire()  # nobody has it


async def test_closing_while_it_opens_lets_go_of_it(tmp_path: Path, store: Stores) -> None:
    begun = asyncio.Event()

    class Slow(Opened):
        async def open(self) -> None:
            await super().open()
            begun.set()
            await asyncio.Event().wait()

    slow = Slow(tmp_path, "slow")
    mine = store(slow)
    call = asyncio.create_task(read(mine))
    await begun.wait()
    await mine.close()
    with pytest.raises(NoOwner):
        await call
    assert slow.closed
    DirectoryLock(tmp_path).acquire()


async def test_a_store_that_opens_at_the_last_moment_is_used(tmp_path: Path, store: Stores) -> None:
    class Blocking(Opened):
        async def open(self) -> None:
            await super().open()
            time.sleep(0.3)

    assert await read(store(Blocking(tmp_path, "late"), timeout=0.1)) == "late"
