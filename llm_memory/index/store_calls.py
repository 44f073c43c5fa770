"""The vector store's calls, each in a thread of our own: one that hangs costs the bot nothing."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any, Final

from ..errors import EmbeddingFailed, IndexUnavailable
from ..log import logger
from .vector.ports import VectorStore

SLOW: Final = "slow"
"""The code of a query that took too long; the next one is asked again."""
HANGS: Final = "hangs"
"""The code where so many queries are still out that no more are asked."""
BUSY: Final = "busy"
"""The code where it could be asked later."""
CLOSED: Final = "closed"
"""The code of a call to a store that was closed meanwhile: no fault."""
_MOST_LATE: Final = 2
_AT_ONCE: Final = 3
"""Queries under way; others wait for their turn, and their deadline runs."""
_CLOSING_SECONDS: Final = 10.0


class StoreCalls:
    """Not the loop's own threads: a dozen stuck calls there would stop the whole bot.

    The threads are daemons, so that a call that hangs keeps no process from ending.

    Args:
        query_seconds: After this long a query is left to itself, and the caller goes on.
        on_fault: Told of a fault that a query met after its caller had left.
    """

    def __init__(
        self,
        store: VectorStore,
        *,
        query_seconds: float,
        on_fault: Callable[[IndexUnavailable | EmbeddingFailed], None],
    ) -> None:
        self._store = store
        self._query_seconds = query_seconds
        self._on_fault = on_fault
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._late: set[asyncio.Future[Any]] = set()
        self._closed = False

    async def run[**P, T](self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """A call of the index's owner. It takes the time it takes."""
        return await self._start(lambda: call(*args, **kwargs))

    async def query[T](self, ask: Callable[[], T], *, more: float = 0.0) -> T:
        """Ask with a deadline, and so many seconds ``more``.

        Raises:
            IndexUnavailable: the store's own; or ``slow`` or ``hangs``.
            EmbeddingFailed: what else ``ask`` raises.
        """
        if len(self._late) >= _MOST_LATE:
            raise IndexUnavailable("the index does not answer", code=HANGS)
        slow = IndexUnavailable("the index took too long", code=SLOW)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._query_seconds + more
        try:
            async with asyncio.timeout_at(deadline):
                await self._turns.acquire()
        except TimeoutError:
            raise slow from None
        try:
            answer = self._start(ask)
        except IndexUnavailable:
            self._turns.release()
            raise
        answer.add_done_callback(lambda _: self._turns.release())
        try:
            await asyncio.wait({answer}, timeout=max(0.0, deadline - loop.time()))
        finally:  # our caller may have a deadline of its own
            if not answer.done():
                self._late.add(answer)
                answer.add_done_callback(self._came_late)
        if not answer.done():
            raise slow
        return answer.result()

    def _came_late(self, answer: asyncio.Future[Any]) -> None:
        self._late.discard(answer)
        fault = None if answer.cancelled() else answer.exception()
        if isinstance(fault, IndexUnavailable | EmbeddingFailed):
            self._on_fault(fault)

    def _start[T](self, call: Callable[[], T]) -> asyncio.Future[T]:
        """Raises IndexUnavailable: no thread was started."""
        if self._closed:
            raise IndexUnavailable("the index is closed", code=CLOSED)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def give(result: T | None, error: BaseException | None) -> None:
            if answer.cancelled():
                return
            if error is not None:
                answer.set_exception(error)
                return
            answer.set_result(result)  # type: ignore[arg-type]  # of a call that has returned

        def work() -> None:
            result: T | None = None
            error: BaseException | None = None
            try:
                result = call()
            except BaseException as raised:  # noqa: BLE001  (whatever it was, its caller hears it)
                error = raised
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(give, result, error)

        try:
            threading.Thread(target=work, name="scoped-memory-index", daemon=True).start()
        except RuntimeError as error:  # the system has no thread left
            raise IndexUnavailable(str(error), code=BUSY) from error
        return answer

    async def close(self, *others: Callable[[], None]) -> None:
        """Close the store and what else there is to close. Idempotent.

        What waits for calls that hang is left to close behind us.
        """
        if self._closed:
            return
        try:
            closing = {self._start(close) for close in (self._store.close, *others)}
        except IndexUnavailable as error:  # the process ends it
            logger.debug("closing the index failed: {}", error)
            return
        finally:
            self._closed = True
        done, _ = await asyncio.wait(closing, timeout=_CLOSING_SECONDS)
        for answer in done:
            if fault := answer.exception():
                logger.debug("closing the index failed: {}", fault)
