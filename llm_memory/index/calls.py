"""Blocking calls in threads of their own: one that hangs holds up neither the loop nor the end."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from typing import Final

from ..errors import IndexUnavailable

SLOW: Final = "slow"
"""The code of a call that took too long; it goes on, and nobody waits for it."""
BUSY: Final = "busy"
"""The code where it could be asked later."""


class Calls:
    """One after the other: while one hangs no other one is begun.

    Not the loop's own threads: a dozen stuck calls there would stop the whole bot. They are
    daemons, so that a call that hangs keeps no process from ending.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def run[**P, T](
        self, seconds: float, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Raises IndexUnavailable: ``slow`` or ``busy``; and whatever the call raises."""
        told: Future[T] = Future()

        def work() -> None:
            try:
                told.set_result(call(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001  (whatever it was, its caller hears it)
                told.set_exception(error)

        async with within(seconds):
            await self._turn.acquire()
            answer = asyncio.wrap_future(told)
            answer.add_done_callback(self._over)
            try:
                threading.Thread(target=work, name="scoped-memory-index", daemon=True).start()
            except RuntimeError as error:
                told.set_exception(error)
            return await asyncio.shield(answer)

    def _over[T](self, answer: asyncio.Future[T]) -> None:
        self._turn.release()
        if not answer.cancelled():
            answer.exception()  # retrieved, also where nobody waits any more


@contextlib.asynccontextmanager
async def within(seconds: float) -> AsyncIterator[None]:
    """What threads do for the block may take so long. Raises IndexUnavailable: ``slow``, or
    ``busy`` where the system has no thread left."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise IndexUnavailable(f"no answer within {seconds:g} s", code=SLOW) from error
    except RuntimeError as error:
        if "thread" not in str(error):
            raise
        raise IndexUnavailable(str(error), code=BUSY) from error
