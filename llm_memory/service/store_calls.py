"""The vector store's calls, each in a thread of our own: one that hangs costs the bot nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from ..errors import IndexUnavailable
from ..log import logger
from ..models.scope import ScopeFilter
from ..ports import Neighbours, Vector, VectorStore

SLOW: Final = "slow"
"""The code of one query that took too long; the next one is asked again."""
HANGS: Final = "hangs"
"""The code where so many queries are still out that no more are asked."""
_MOST_LATE: Final = 2
_CLOSING_SECONDS: Final = 10.0
_THREADS: Final = 4
"""The owner's one call, the late queries, and one that is in time."""


class StoreCalls:
    """Not the loop's own threads: a dozen stuck calls there would stop the whole bot.

    Args:
        query_seconds: After this long a query is left to itself, and the caller goes on.
        on_fault: Told of a fault that a query met after its caller had left.
    """

    def __init__(
        self,
        store: VectorStore,
        *,
        query_seconds: float,
        on_fault: Callable[[IndexUnavailable], None],
    ) -> None:
        self._store = store
        self._query_seconds = query_seconds
        self._on_fault = on_fault
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="scoped-memory-index")
        self._late: set[asyncio.Future[Neighbours]] = set()

    async def run[**P, T](self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """A call of the index's owner. It takes the time it takes."""
        return await self._submit(lambda: call(*args, **kwargs))

    async def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        """Ask with a deadline.

        Raises:
            IndexUnavailable: the store's own; or ``slow`` or ``hangs``.
        """
        if len(self._late) >= _MOST_LATE:
            raise IndexUnavailable("the index does not answer", code=HANGS)
        answer = self._submit(lambda: self._store.query(vector, scope_filter, k))
        try:
            await asyncio.wait({answer}, timeout=self._query_seconds)
        finally:  # our caller may have a deadline of its own
            if not answer.done():
                self._late.add(answer)
                answer.add_done_callback(self._came_late)
        if not answer.done():
            raise IndexUnavailable("the index took too long", code=SLOW)
        return answer.result()

    def _came_late(self, answer: asyncio.Future[Neighbours]) -> None:
        self._late.discard(answer)
        fault = None if answer.cancelled() else answer.exception()
        if isinstance(fault, IndexUnavailable):
            self._on_fault(fault)

    def _submit[T](self, call: Callable[[], T]) -> asyncio.Future[T]:
        try:
            return asyncio.wrap_future(self._threads.submit(call))
        except RuntimeError as error:  # shut down
            raise IndexUnavailable("the index is closed", code="closed") from error

    async def close(self) -> None:
        """Close the store, and let the threads end when their calls do. Idempotent.

        A store that waits for calls that hang is left to close behind us.
        """
        try:
            closing = self._submit(self._store.close)
        except IndexUnavailable:
            return  # closed before
        await asyncio.wait({closing}, timeout=_CLOSING_SECONDS)
        if closing.done() and (fault := closing.exception()):
            logger.debug("关闭索引时出错：{}", fault)
        self._threads.shutdown(wait=False)
