"""From opening to close: who may go on, who waits, what is still brought to its end, and what runs
behind, whose end somebody sees."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, field

from ..errors import EngineClosed, EngineOff
from ..log import logger
from ..models.status import Notice
from .notice_board import NoticeBoard


class Lifespan:
    """Of one engine. Touched from the event loop only."""

    def __init__(self) -> None:
        self.is_closing = False
        """No new work begins behind; calls are answered until ``close``."""
        self.opened = asyncio.Event()
        """Scopes can be told, and the vault is being read."""
        self._loaded = asyncio.Event()
        self._end: EngineOff | EngineClosed | None = None
        self._running: set[asyncio.Task[object]] = set()

    def loaded(self) -> None:
        """The vault is read: waiting callers go on."""
        self.opened.set()
        self._loaded.set()

    def failed(self, reason: EngineOff | EngineClosed) -> None:
        """The vault cannot be opened: waiting callers get this error."""
        self._end = reason
        self.loaded()

    @property
    def is_ready(self) -> bool:
        """The vault is read, and nothing is being closed."""
        return self._loaded.is_set() and self._end is None and not self.is_closing

    async def close(self) -> None:
        """Answer EngineClosed from now on; wait for the writes that began."""
        self.is_closing = True
        self.failed(EngineClosed("the engine is closed"))
        if self._running:
            await asyncio.wait(self._running)

    async def begun(self, *, wait_seconds: float | None = 0.0) -> None:
        """Wait until the vault is being read at least, and up to ``wait_seconds`` more, without
        end for None, for it to be read. Raises EngineClosed, EngineOff."""
        await self.opened.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_seconds):
                await self._loaded.wait()
        if self._end is not None:
            raise self._end.with_traceback(None)

    async def ready(self) -> None:
        """Wait until the vault is read. Raises EngineClosed, EngineOff."""
        await self.begun(wait_seconds=None)

    def start[T](self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Do work behind the caller; ``close`` waits for it."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def finish[T](self, work: Callable[[], Coroutine[object, object, T]]) -> asyncio.Future[T]:
        """Do work to its end even if the caller is cancelled: a half-done write is no write.

        Raises EngineClosed, and then ``work`` was not called.
        """
        if isinstance(self._end, EngineClosed):
            raise self._end.with_traceback(None)
        return asyncio.shield(self.start(work()))


async def shielded[T](
    work: Coroutine[object, object, T], *, on_cancel: Callable[[], None] = lambda: None
) -> T:
    """Do ``work`` to its end, also if the caller is cancelled: he is, when it is done. A thread
    cannot be stopped, and what it has written must be known.

    ``on_cancel`` may tell it to hurry.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        on_cancel()
        await asyncio.wait([task])
        raise


@dataclass(eq=False)
class Supervisor:
    """Logs what nobody expected with its traceback, tells the owner, and begins again.

    ``_retry`` returns the seconds to wait after so many failures before the last.
    """

    _notices: NoticeBoard
    _retry: Callable[[int], float]
    _tasks: list[asyncio.Task[None]] = field(init=False, default_factory=list)

    def start(self, part: str, work: Callable[[], Awaitable[object]]) -> None:
        """Keep up work behind the caller, until ``close``."""
        self._tasks.append(asyncio.create_task(self.supervise(part, work), name=part))

    async def supervise(self, part: str, work: Callable[[], Awaitable[object]]) -> None:
        """Do work to its end, or until cancelled; begin it again after each error."""
        failures = 0
        while not await self.attempt(part, work):
            await asyncio.sleep(self._retry(failures))
            failures += 1

    async def attempt(self, part: str, work: Callable[[], Awaitable[object]]) -> bool:
        """Do work that the caller can do without. Returns False for an error, which is told."""
        try:
            await work()
        except EngineClosed:
            return True
        except Exception as error:  # noqa: BLE001  (whatever it is: the others go on)
            self.tell(part, error)
            return False
        return True

    def tell(self, part: str, error: Exception) -> None:
        """Log an error with its traceback, and let a notice stand that names the part."""
        trace = "".join(traceback.format_exception(error))
        logger.error("part_failed", part=part, trace=trace)
        params = {"part": part, "detail": str(error) or type(error).__name__}
        self._notices.post(Notice("part_failed", part, params, error=True))

    async def close(self) -> None:
        """Cancel what runs, and wait for its end. Idempotent."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@contextlib.contextmanager
def long_lived() -> Iterator[None]:
    """What is made meanwhile, thousands of memories, lives as long as the engine: it is set apart
    before the garbage collector, off until then, looks at it. A full collection over 100,000 takes
    a quarter of a second, and the whole interpreter with it. What is garbage in that moment stays
    until ``gc.unfreeze``: so it is done where thousands are made, and once a night."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def set_apart() -> None:
    """The same for what was made since, a few thousand at a time; what is garbage goes first."""
    gc.collect(1)
    gc.freeze()
