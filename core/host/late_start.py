"""The plugin's parts are imported after AstrBot's own start, and off its event loop.

AstrBot imports one plugin after the other before it opens its panel and connects to any platform.
Several hundred modules there cost every start half a second, on a small server several, and nobody
can have said anything yet.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, Protocol

_UP_SECONDS = 30.0
"""Longer than AstrBot takes to start. One that was up long before, and has no provider, tells
nothing: its owner looks at the status page meanwhile."""


def providers_are_loaded(context: Any) -> bool:
    """True once AstrBot holds any provider: at start-up plugins come first."""
    return bool(context.provider_manager.inst_map)


class Closable(Protocol):
    """Something that holds what has to be let go."""

    async def close(self) -> None:
        """Let it go. Idempotent."""


class LateStart[Code, Parts: Closable]:
    """Imports once and makes one at a time. Touched from the event loop only.

    Attributes:
        here: What was made, None until then and after ``close``.
        fault: Why nothing was made; empty while that may still happen.
    """

    def __init__(
        self,
        load: Callable[[], Code],
        make: Callable[[Code, bool], Awaitable[Parts]],
        tell: Callable[[str], None],
    ) -> None:
        """
        Args:
            load: Imports; called in a thread.
            make: Is told whether AstrBot has only just started.
            tell: Told what failed while the exception is at hand.
        """
        self._load = load
        self._make = make
        self._tell = tell
        self._up = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._unstoppable: asyncio.Future[Any] | None = None
        self._closed = False
        self.here: Parts | None = None
        self.fault = ""

    async def now(self) -> None:
        """AstrBot has been up for long: a reload, or an installation from the panel.

        Raises whatever the import raises: AstrBot shows it beside the plugin's name.
        """
        self._task = asyncio.create_task(self._start(just_started=False))
        await self._task

    def later(self) -> None:
        """As soon as AstrBot is up. What fails is told."""
        self._task = asyncio.create_task(self._start_later(), name="scoped-memory-start")

    def astrbot_is_up(self) -> None:
        """It has said so, or a message came."""
        self._up.set()

    async def within(self, seconds: float) -> Parts | None:
        """The parts, waited for so long. That they are asked for means that AstrBot is up."""
        self._up.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.here is None and self._task is not None and not self._task.done():
                    await asyncio.wait([self._task])  # behind which the next may have begun
        return self.here

    async def again(self, between: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        """Close what was made and make it anew, after whatever is being made already. What fails
        is told, and it is made all the same. Nothing happens after ``close``.

        Args:
            between: What is done while there is nothing.
        """
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])  # two at a time would leave parts unclosed
        if self._closed:
            return
        old, self.here = self.here, None
        before = [*([old.close] if old else []), *([between] if between else [])]
        self._task = asyncio.create_task(self._start_again(before))
        await asyncio.wait([self._task])

    async def close(self) -> None:
        """Close what was made, and make nothing any more. Idempotent.

        An import under way is waited for: AstrBot forgets the plugin's modules next, and what came
        after that would be taken for the new ones.
        """
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._unstoppable is not None:
            await asyncio.gather(self._unstoppable, return_exceptions=True)
        self._task = self._unstoppable = None
        here, self.here = self.here, None
        if here is not None:
            await here.close()

    async def _start_later(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_UP_SECONDS):
                await self._up.wait()
        await self._start_again([])

    async def _start_again(self, before: list[Callable[[], Coroutine[Any, Any, None]]]) -> None:
        for step in before:
            with self._telling():
                await self._shielded(step())
        with self._telling():
            await self._start(just_started=self._up.is_set())

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """Whatever one step raises, the next one is taken."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  (the last place that can tell)
            self.fault = f"{type(error).__name__}: {error}"
            self._tell(self.fault)

    async def _start(self, *, just_started: bool) -> None:
        code = await self._shielded(asyncio.to_thread(self._load))
        self.here, self.fault = await self._make(code, just_started), ""

    async def _shielded[Result](self, work: Coroutine[Any, Any, Result]) -> Result:
        """Await what goes on where the one who awaits it is cancelled; ``close`` waits for it."""
        self._unstoppable = running = asyncio.ensure_future(work)
        return await asyncio.shield(running)
