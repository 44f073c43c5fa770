"""A store that whoever holds its lock owns: this process, or another that passes on what we ask.

Every call may be repeated: a write carries a key, and the owner writes no key twice. So a call that
is cut off by the owner's death is asked once more of the next one.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, Protocol

from ..errors import (
    DirectoryInUse,
    EngineClosed,
    EngineOff,
    NoOwner,
    OwnerGone,
)
from ..log import logger
from ..models.conversation import Actor, ConversationId
from ..models.data_models import MemoryDraft, Rejected, RememberOutcome
from ..models.recall import FileText, PointerNotVisible, Recall
from ..models.tasks import TaskChange, TaskReport
from ..primer.models import Overview
from ..sharing.endpoint import Endpoint, read_endpoint
from ..sharing.ports import SharedMemory
from ..sharing.remote_memory import RemoteMemory
from ..storage.directory_lock import DirectoryLock

TIMEOUT_SECONDS: Final = 5.0
"""So long a call waits for an owner that does not answer."""
OPENING_SECONDS: Final = 60.0
"""And for a store that this process is opening: a large one takes its time."""
_POLL_SECONDS: Final = 0.05
_ENDS: Final = "this program is about to end / 程序就要结束了"
_SILENT: Final = "another program has it open and does not answer / 另一个程序开着它，不答话"
_ASIDE: Final = ConversationId.parse("mcp:global:ping")


class Owned(Protocol):
    """A store that this process has opened."""

    @property
    def memory(self) -> SharedMemory: ...

    async def open(self) -> None: ...

    async def close(self) -> None: ...


class SharedStore:
    """A ``SharedMemory``. ``start``, then ``close``; calls may come at once.

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
        self._own = own
        self._endpoint = endpoint or (lambda: read_endpoint(state))
        self._timeout = timeout
        self._current: SharedMemory | None = None
        self._owned: Owned | None = None
        self._remote: RemoteMemory | None = None
        self._connecting: asyncio.Task[SharedMemory] | None = None
        self._opening = False
        self._closed = False
        self._stranger: NoOwner | None = None
        self._fault = ""  # of the last round, as a whole
        self._found = ""  # so far in this one

    @property
    def owned(self) -> Owned | None:
        """The store, while this process owns it."""
        return self._owned

    def start(self) -> None:
        """Begin to open or to follow it."""
        if self._connecting is None and self._current is None and not self._closed:
            self._connecting = asyncio.create_task(self._connect())
            # Nobody may be waiting: the next call begins anew, and is told what is wrong.
            self._connecting.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def connected(self, seconds: float) -> SharedMemory:
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

    async def _connect(self) -> SharedMemory:
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

    async def _followed(self) -> SharedMemory | None:
        """Returns the owner, if one answers."""
        self._stranger = None
        endpoint = await asyncio.to_thread(self._endpoint)
        if endpoint is None or endpoint.pid == os.getpid():
            self._found = "no program has it open / 没有程序开着它"
            return None
        try:
            remote = RemoteMemory(endpoint)
        except NoOwner as error:  # unless it is dead: then another version has taken its place
            self._found, self._stranger = str(error), error
            return None
        try:
            await remote.read("", conversation_id=_ASIDE)
        except BaseException as error:
            remote.close()
            if not isinstance(error, OwnerGone):
                raise
            self._found = str(error)
            return None
        self._remote = remote
        logger.info("用的是另一个程序打开的记忆（进程 {}）", endpoint.pid)
        return remote

    async def _taken(self) -> SharedMemory | None:
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

    async def _opened(self, owned: Owned) -> SharedMemory | None:
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
        self._owned = owned
        return owned.memory

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

    def _drop(self, gone: SharedMemory) -> None:
        if self._current is gone:
            self._current = None
        if self._remote is gone:
            self._remote.close()
            self._remote = None

    async def close(self) -> None:
        """Stop following; close the store if it is ours. A call after that, or one that was under
        way, raises NoOwner. Idempotent."""
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        if self._remote is not None:
            self._remote.close()
        owned, self._owned, self._current = self._owned, None, None
        if owned is not None:
            await owned.close()

    async def _call(self, name: str, *arguments: Any, **named: Any) -> Any:
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            try:
                memory = await self.connected(self._timeout)
            except NoOwner:
                if self._opening and loop.time() - began < OPENING_SECONDS:
                    continue
                raise
            try:
                return await getattr(memory, name)(*arguments, **named)
            except (OwnerGone, EngineClosed) as error:
                self._drop(memory)
                if loop.time() - began >= OPENING_SECONDS:
                    raise NoOwner(str(error)) from error
                await asyncio.sleep(_POLL_SECONDS)

    async def remember(
        self, draft: MemoryDraft, *, conversation_id: ConversationId
    ) -> RememberOutcome:
        answer: RememberOutcome = await self._call(
            "remember", draft, conversation_id=conversation_id
        )
        return answer

    async def recall(
        self,
        query: str,
        *,
        conversation_id: ConversationId,
        limit: int,
        token_budget: int,
        actor: Actor | None = None,
    ) -> Recall:
        answer: Recall = await self._call(
            "recall",
            query,
            conversation_id=conversation_id,
            limit=limit,
            token_budget=token_budget,
            actor=actor,
        )
        return answer

    async def update_tasks(
        self, change: TaskChange, *, conversation_id: ConversationId, actor: Actor
    ) -> TaskReport | Rejected:
        answer: TaskReport | Rejected = await self._call(
            "update_tasks", change, conversation_id=conversation_id, actor=actor
        )
        return answer

    async def read(
        self, where: str, *, conversation_id: ConversationId
    ) -> FileText | PointerNotVisible:
        answer: FileText | PointerNotVisible = await self._call(
            "read", where, conversation_id=conversation_id
        )
        return answer

    async def overview(
        self, *, conversation_id: ConversationId, actor: Actor, token_budget: int
    ) -> Overview:
        answer: Overview = await self._call(
            "overview", conversation_id=conversation_id, actor=actor, token_budget=token_budget
        )
        return answer

    async def refresh_overview(self, *, conversation_id: ConversationId) -> None:
        await self._call("refresh_overview", conversation_id=conversation_id)
