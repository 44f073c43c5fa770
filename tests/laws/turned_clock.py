"""An event loop whose time is turned by hand: where nothing is left to do, it is at once as late as
the next timer asks for. So no test waits for a deadline, and none fails on a slow machine.

No time passes while anybody works: a task, or a thread that the loop or its tasks have started. A
thread that a test makes hang or be slow stands in ``TurnedLoop.rest``, and is not waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
import selectors
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures import thread as pools
from typing import Any, Final
from unittest import mock

_WORKERS: Final = 6
"""Threads of the loop's own, as ``asyncio`` has on two processors."""
_POLL_SECONDS: Final = 0.002
_PATIENCE_SECONDS: Final = 60.0
"""Of real time, for threads at work: they wait for each other, and the test is wrong."""

_LONGEST_SECONDS: Final = 30 * 24 * 3600.0
"""Of the loop's time."""


class _Selector(selectors.DefaultSelector):
    """Waits for what is ready, and for threads at work; for a timer it turns the time."""

    loop: TurnedLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if timeout is not None and timeout <= 0:
            return found
        given_up = self.loop.real_time() + _PATIENCE_SECONDS
        while not found and self.loop.is_worked_for:
            found = super().select(_POLL_SECONDS)
            if self.loop.real_time() > given_up:
                raise RuntimeError(f"threads do not end: {threading.enumerate()}")
        found = found or super().select(0)  # the last of them may have reported just now
        if not found:
            if timeout is None:
                raise RuntimeError("nobody works, and no timer will ring")
            self.loop.turn(timeout)
        return found


class TurnedLoop(asyncio.SelectorEventLoop):
    """``time()`` is in seconds since the beginning of the test."""

    real_time = staticmethod(time.monotonic)

    def __init__(self) -> None:
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)
        self._now = 0.0
        self._own_thread = threading.get_ident()
        self._mutex = threading.Lock()
        self._asked: Counter[Executor] = Counter()
        self._resting: Counter[Executor | None] = Counter()
        self._rests: list[Callable[[], None]] = []
        self._place = threading.local()
        self._others = set(threading.enumerate())
        self._pool = ThreadPoolExecutor(_WORKERS, "executor")
        started = threading.Barrier(_WORKERS + 1)
        for _ in range(_WORKERS):  # a bot has them; a later fault is that no more can be started
            self._pool.submit(started.wait)
        started.wait()

    def time(self) -> float:
        return self._now

    def turn(self, seconds: float) -> None:
        """So much later."""
        self._now += seconds
        if self._now > _LONGEST_SECONDS:
            raise RuntimeError("the story does not end")

    @property
    def is_worked_for(self) -> bool:
        """A thread is about something that may end without the time going on."""
        with self._mutex:
            for pool, asked in self._asked.items():
                if min(asked, pool._max_workers) > self._resting[pool]:  # type: ignore[attr-defined]
                    return True
            workers = set(pools._threads_queues)
            alone = set(threading.enumerate()) - self._others - workers
            return len(alone) > self._resting[None]

    def run_in_executor(  # type: ignore[override]  # typeshed's has a type variable tuple
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        pool = executor or self._pool

        def work() -> Any:
            self._place.pool = pool
            return func(*args)

        asked: Future[Any] = pool.submit(work)
        with self._mutex:
            self._asked[pool] += 1
        answer = asyncio.wrap_future(asked, loop=self)
        asked.add_done_callback(lambda _: self._answered(pool))  # after it has told the loop
        return answer

    def _answered(self, pool: Executor) -> None:
        with self._mutex:
            self._asked[pool] -= 1

    @property
    def is_own_thread(self) -> bool:
        """Whether the loop itself would be held up."""
        return threading.get_ident() == self._own_thread

    def rest(self, seconds: float | None) -> None:
        """In a thread: for so long, or until ``let_go``. The loop's own thread goes on."""
        if self.is_own_thread:
            return
        over = threading.Event()
        pool: Executor | None = getattr(self._place, "pool", None)

        def end() -> None:  # in the loop's thread: from here on it is at work again
            with self._mutex:
                if not over.is_set():
                    self._resting[pool] -= 1
                    over.set()

        if seconds is None:
            with self._mutex:
                self._rests.append(end)
        else:
            self.call_soon_threadsafe(self.call_later, seconds, end)
        with self._mutex:
            self._resting[pool] += 1
        over.wait()

    def let_go(self) -> None:
        """Whoever rests without an end goes on."""
        with self._mutex:
            rests, self._rests = self._rests, []
        for end in rests:
            end()

    def take_all_workers(self) -> None:
        """The loop's own threads rest until ``let_go``, as if other plugins had them all."""
        for _ in range(_WORKERS):
            self.run_in_executor(None, self.rest, None)

    def close(self) -> None:
        self.let_go()
        self._pool.shutdown()
        super().close()


def turned[T](story: Callable[[TurnedLoop], Coroutine[Any, Any, T]]) -> T:
    """Play a story on such a loop. Whatever asks for elapsed seconds is told those of the loop."""
    loop = TurnedLoop()
    with contextlib.ExitStack() as clocks:
        for name in ("monotonic", "perf_counter"):
            clocks.enter_context(mock.patch.object(time, name, loop.time))
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            return runner.run(story(loop))


@contextlib.contextmanager
def no_thread_starts() -> Iterator[None]:
    """As where a system has no thread left."""

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with mock.patch.object(threading.Thread, "start", refused):
        yield
