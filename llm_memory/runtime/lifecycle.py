"""From opening to close: who may go on, who waits, and what is still brought to its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import TypeVar

from ..errors import EngineClosed, EngineOff

T = TypeVar("T")


class Lifespan:
    """Of one engine. Touched from the event loop only."""

    def __init__(self) -> None:
        self._opened = asyncio.Event()
        self._loaded = asyncio.Event()
        self._off: EngineOff | None = None
        self._closing = False
        self._closed = False
        self._running: set[asyncio.Task[object]] = set()

    def opened(self) -> None:
        """Scopes can be told, and the vault is being read."""
        self._opened.set()

    def loaded(self) -> None:
        """The vault is read: waiting callers go on."""
        self._opened.set()
        self._loaded.set()

    def failed(self, reason: EngineOff) -> None:
        """The vault cannot be opened: waiting callers get this error."""
        self._off = reason
        self.loaded()

    @property
    def is_ready(self) -> bool:
        """The vault is read, and nothing is being closed."""
        return self._loaded.is_set() and self._off is None and not self._closing

    @property
    def is_closing(self) -> bool:
        """The engine is being closed, or is closed."""
        return self._closing

    def closing(self) -> None:
        """No new work begins behind; calls are answered until ``close``."""
        self._closing = True

    async def close(self) -> None:
        """Answer EngineClosed from now on; wait for the writes that began."""
        self.closing()
        self._closed = True
        self.loaded()
        if self._running:
            await asyncio.wait(self._running)

    async def begun(self, *, wait_seconds: float = 0.0) -> None:
        """Wait until the vault is being read at least, and up to ``wait_seconds`` more for it
        to be read. Raises EngineClosed, EngineOff."""
        await self._opened.wait()
        if wait_seconds > 0 and not self._loaded.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_seconds):
                    await self._loaded.wait()
        self._check()

    async def ready(self) -> None:
        """Wait until the vault is read. Raises EngineClosed, EngineOff."""
        await self._loaded.wait()
        self._check()

    def _check(self) -> None:
        if self._closed:
            raise EngineClosed("the engine is closed")
        if self._off is not None:
            raise self._off

    def start(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Do work behind the caller; ``close`` waits for it."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def finish(self, work: Callable[[], Coroutine[object, object, T]]) -> asyncio.Future[T]:
        """Do work to its end even if the caller is cancelled: a half-done write is no write.

        Raises EngineClosed, and then ``work`` was not called.
        """
        if self._closed:
            raise EngineClosed("the engine is closed")
        return asyncio.shield(self.start(work()))
