"""A store that whoever holds its lock owns: this process, or another that passes on what we ask.

An agent's call may be repeated: a write carries a key, and the owner writes no key twice. So a call
that is cut off by the owner's death is asked once more of the next one. What a person asks as the
owner is asked once: a second undo would take back something else.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, Protocol

from ..errors import DirectoryInUse, EngineClosed, EngineOff, NoOwner, OwnerGone
from ..log import logger
from ..models.conversation import ConversationId
from ..sharing.calls import forwarding
from ..sharing.endpoint import Endpoint, read_endpoint
from ..sharing.ports import OwnerMemory, SharedMemory
from ..sharing.remote_memory import RemoteMemory
from ..storage.directory_lock import DirectoryLock

TIMEOUT_SECONDS: Final = 5.0
"""So long a call waits for an owner that does not answer."""
OPENING_SECONDS: Final = 60.0
"""And for a store that this process is opening: a large one takes its time."""
_POLL_SECONDS: Final = 0.05
_ENDS: Final = "this program is about to end"
_SILENT: Final = "another program has it open and does not answer"
_ASIDE: Final = ConversationId.parse("mcp:global:ping")


class Connected(Protocol):
    """A store that answers: this process's own, or another's."""

    @property
    def memory(self) -> SharedMemory: ...

    @property
    def owner(self) -> OwnerMemory: ...


class Owned(Connected, Protocol):
    """A store that this process has opened."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...


class SharedStore:
    """``start``, then ``close``; ``memory`` and ``owner`` may be asked at once.

    Args:
        folder: Where the store's lock is.
        state: Where the endpoint file is.
        own: Makes the store for this process to own; None for one that is only followed, as a
            bot's is, whose settings this process does not have.
        endpoint: Names the owner where its file cannot be read, as in a container.
    """

    def __init__(
        self,
        folder: Path,
        state: Path,
        own: Callable[[], Awaitable[Owned]] | None,
        *,
        endpoint: Callable[[], Endpoint | None] | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self._folder = folder
        self.state = state
        self._own = own
        self._endpoint = endpoint or (lambda: read_endpoint(state))
        self._timeout = timeout
        self.memory: SharedMemory = forwarding(self._call, SharedMemory)
        self.owner: OwnerMemory = forwarding(self._call_once, OwnerMemory)
        self._current: Owned | RemoteMemory | None = None
        self._connecting: asyncio.Task[Owned | RemoteMemory] | None = None
        self._opening = False
        self._closed = False
        self._stranger: NoOwner | None = None
        self._fault = ""  # of the last round, as a whole
        self._found = ""  # so far in this one

    @property
    def owned(self) -> Owned | None:
        """The store, while this process owns it."""
        return None if isinstance(self._current, RemoteMemory) else self._current

    def start(self) -> None:
        """Begin to open or to follow it."""
        if self._connecting is None and self._current is None and not self._closed:
            self._connecting = asyncio.create_task(self._connect())
            # Nobody may be waiting: the next call begins anew, and is told what is wrong.
            self._connecting.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def connected(self, seconds: float) -> Connected:
        """Returns what answers calls now. Raises NoOwner after ``seconds``, and EngineOff where the
        store cannot be opened."""
        if self._closed:
            raise NoOwner(_ENDS)
        if (current := self._current) is not None:
            return current
        self.start()
        connecting = self._connecting
        assert connecting is not None  # noqa: S101
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(connecting)
        except TimeoutError:
            if (current := self._current) is not None:  # at the last moment
                return current
            raise NoOwner(self._fault or _SILENT) from None
        except asyncio.CancelledError:
            if connecting.cancelled():  # `close` alone does that
                raise NoOwner(_ENDS) from None
            raise

    async def _connect(self) -> Owned | RemoteMemory:
        try:
            while True:
                found = await self._followed() or await self._taken()
                if found is not None:
                    self._current = found
                    return found
                self._fault = self._found
                await asyncio.sleep(_POLL_SECONDS)
        finally:
            self._connecting = None

    async def _followed(self) -> RemoteMemory | None:
        """Returns the owner, if one answers."""
        self._stranger = None
        endpoint = await asyncio.to_thread(self._endpoint)
        if endpoint is None or endpoint.pid == os.getpid():
            self._found = "no program has it open"
            return None
        try:
            remote = RemoteMemory(endpoint)
        except NoOwner as error:  # unless it is dead: then another version has taken its place
            self._found, self._stranger = str(error), error
            return None
        try:
            await remote.memory.read("", conversation_id=_ASIDE)
        except BaseException as error:
            remote.close()
            if not isinstance(error, OwnerGone):
                raise
            self._found = str(error)
            return None
        logger.info("用的是另一个程序打开的记忆（进程 {}）", endpoint.pid)
        return remote

    async def _taken(self) -> Owned | None:
        """Returns the store, if its lock is free. Raises EngineOff where it cannot be opened."""
        if self._own is None or not await asyncio.to_thread(self._is_free):
            if self._stranger is not None:
                raise self._stranger
            return None
        self._opening = True
        try:
            return await self._opened(await self._own())
        finally:
            self._opening = False

    async def _opened(self, owned: Owned) -> Owned | None:
        try:
            await owned.open()
        except EngineOff as error:
            if error.code == "directory_in_use":
                self._found = _SILENT
                return None
            raise
        except BaseException:
            await owned.close()
            raise
        return owned

    def _is_free(self) -> bool:
        """Whether the lock could be had just now: an engine is made, and its packages are loaded,
        for the one who gets it alone. Blocks."""
        lock = DirectoryLock(self._folder)
        try:
            lock.acquire()
        except DirectoryInUse:
            self._found = _SILENT
            return False
        lock.release()
        return True

    def _drop(self, gone: Connected) -> None:
        if self._current is gone:
            self._current = None
        if isinstance(gone, RemoteMemory):
            gone.close()

    async def close(self) -> None:
        """Stop following; close the store if it is ours. A call after that, or one that was under
        way, raises NoOwner. Idempotent."""
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        current, self._current = self._current, None
        if isinstance(current, RemoteMemory):
            current.close()
        elif current is not None:
            await current.close()

    async def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            current = await self._connected_since(began)
            try:
                return await getattr(current.memory, name)(**arguments)
            except (OwnerGone, EngineClosed) as error:
                self._drop(current)
                if loop.time() - began >= OPENING_SECONDS:
                    raise NoOwner(str(error)) from error
                await asyncio.sleep(_POLL_SECONDS)

    async def _call_once(self, name: str, arguments: dict[str, Any]) -> Any:
        current = await self._connected_since(asyncio.get_running_loop().time())
        try:
            return await getattr(current.owner, name)(**arguments)
        except (OwnerGone, EngineClosed) as error:
            self._drop(current)
            raise NoOwner(
                f"the program that had the store open has ended, and may have done it: {error}"
            ) from error

    async def _connected_since(self, began: float) -> Connected:
        """Returns what answers. Waits longer where this process is opening the store."""
        while True:
            try:
                return await self.connected(self._timeout)
            except NoOwner:
                waited = asyncio.get_running_loop().time() - began
                if not self._opening or waited >= OPENING_SECONDS:
                    raise
