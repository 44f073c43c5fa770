"""A store that whoever holds its lock owns: this process, or another that passes on what we ask.

An agent's call may be repeated: a write carries a key, and the owner writes no key twice. So a call
that is cut off by the owner's death is asked once more of the next one. What a person asks as the
owner is asked once: a second undo would take back something else.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import EngineClosed, EngineOff, NoOwner, OtherProtocol, OwnerGone
from ..log import logger
from ..models.conversation import ConversationId
from ..sharing.calls import forwarding
from ..sharing.endpoint import Endpoint, read_endpoint
from ..sharing.ports import OwnerMemory, SharedMemory
from ..sharing.remote_memory import RemoteMemory
from ..storage.directory_lock import is_free

if TYPE_CHECKING:  # a follower loads no engine
    from .owned_store import OwnedStore

TIMEOUT_SECONDS: Final = 5.0
"""So long a call waits for an owner that does not answer."""
OPENING_SECONDS: Final = 60.0
"""And for a store that this process is opening: a large one takes its time."""
_POLL_SECONDS: Final = 0.05
_ENDS: Final = "this program is about to end"
_SILENT: Final = "another program has it open and does not answer"
_ASIDE: Final = ConversationId.parse("mcp:global:ping")

type _Connected = OwnedStore | RemoteMemory


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
        own: Callable[[], Awaitable[OwnedStore]] | None,
        *,
        endpoint: Callable[[], Endpoint | None] | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self._folder = folder
        self.state = state
        self._own = own
        self._endpoint = endpoint or (lambda: read_endpoint(state))
        self._timeout = timeout
        self.memory: SharedMemory = forwarding(partial(self._call, "memory"), SharedMemory)
        self.owner: OwnerMemory = forwarding(partial(self._call, "owner"), OwnerMemory)
        self._current: _Connected | None = None
        self._connecting: asyncio.Task[_Connected] | None = None
        self._opening = False
        self._closed = False
        self._fault = _SILENT

    def start(self) -> None:
        """Begin to open or to follow it."""
        if self._connecting is None and self._current is None and not self._closed:
            self._connecting = asyncio.create_task(self._connect())
            # Nobody may be waiting: the next call begins anew, and is told what is wrong.
            self._connecting.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def close(self) -> None:
        """Stop following; close the store if it is ours. A call after that, or one that was under
        way, raises NoOwner. Idempotent."""
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        current, self._current = self._current, None
        if not isinstance(current, RemoteMemory | None):
            await current.close()

    async def _call(self, port: str, name: str, arguments: dict[str, Any]) -> Any:
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            current = await self._connected(began)
            try:
                return await getattr(getattr(current, port), name)(**arguments)
            except (OwnerGone, EngineClosed) as error:
                if self._current is current:
                    self._current = None
                if port == "owner":
                    raise NoOwner(
                        "the program that had the store open has ended, and may have done it: "
                        f"{error}"
                    ) from error
                if loop.time() - began >= OPENING_SECONDS:
                    raise NoOwner(str(error)) from error
                await asyncio.sleep(_POLL_SECONDS)

    async def _connected(self, began: float) -> _Connected:
        """Returns what answers a call that ``began`` then. Raises NoOwner where nothing does in
        time, and EngineOff where the store cannot be opened."""
        while True:
            self.start()
            if self._current is not None:
                return self._current
            connecting = self._connecting
            if connecting is None:
                raise NoOwner(_ENDS)
            await asyncio.wait([connecting], timeout=self._timeout)
            if connecting.cancelled():  # `close` alone does that
                raise NoOwner(_ENDS)
            if connecting.done():
                return connecting.result()
            waited = asyncio.get_running_loop().time() - began
            if not self._opening or waited >= OPENING_SECONDS:
                raise NoOwner(self._fault)

    async def _connect(self) -> _Connected:
        try:
            while True:
                found: _Connected | NoOwner = await self._followed()
                if isinstance(found, NoOwner):
                    found = await self._taken(found)
                if not isinstance(found, NoOwner):
                    self._current = found
                    return found
                self._fault = str(found)
                await asyncio.sleep(_POLL_SECONDS)
        finally:
            self._connecting = None

    async def _followed(self) -> RemoteMemory | NoOwner:
        """Returns the owner, or why none can be asked."""
        endpoint = await asyncio.to_thread(self._endpoint)
        if endpoint is None or endpoint.pid == os.getpid():
            return NoOwner("no program has it open")
        try:
            remote = RemoteMemory(endpoint)
            await remote.memory.read("", conversation_id=_ASIDE)
        except OtherProtocol as error:
            return error
        except OwnerGone as error:
            return NoOwner(str(error))
        logger.info("other_owner", pid=endpoint.pid)
        return remote

    async def _taken(self, why: NoOwner) -> OwnedStore | NoOwner:
        """Returns the store, or why it is not this process's: ``why`` it has no owner to follow,
        where none may be had. Raises EngineOff where it cannot be opened, and ``why`` where its
        owner is alive and of another protocol."""
        # An engine is made, and its packages are loaded, for the one who gets the lock alone.
        if self._own is None or not await asyncio.to_thread(is_free, self._folder):
            if isinstance(why, OtherProtocol):
                raise why
            return why if self._own is None else NoOwner(_SILENT)
        self._opening = True
        try:
            owned = await self._own()
            try:
                await owned.open()
            except BaseException:
                await owned.close()
                raise
            return owned
        except EngineOff as error:
            if error.code != "directory_in_use":
                raise
            return NoOwner(_SILENT)
        finally:
            self._opening = False
