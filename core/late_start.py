"""The plugin's parts are imported after AstrBot's own start, and off its event loop.

AstrBot imports one plugin after the other before it opens its panel and connects to any platform.
Several hundred modules there cost every start half a second, on a small server several, and nobody
can have said anything yet.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

_UP_SECONDS = 30.0
"""Longer than AstrBot takes to start. One that was up long before, and has no provider, tells
nothing: its owner looks at the status page meanwhile."""


def providers_are_loaded(context: Any) -> bool:
    """True once AstrBot holds any provider: at start-up plugins come first."""
    return bool(context.provider_manager.inst_map)


class LateStart[Code, Parts]:
    """Imports once and makes once. Touched from the event loop only.

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
            tell: Told ``fault`` while the exception is at hand.
        """
        self._load = load
        self._make = make
        self._tell = tell
        self._up = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._loading: asyncio.Future[Code] | None = None
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
        """The parts, waited for so long. That somebody asks means that AstrBot is up."""
        self._up.set()
        if self.here is None and self._task is not None:
            await asyncio.wait([self._task], timeout=seconds)
        return self.here

    async def close(self) -> Parts | None:
        """What was made, for the caller to close. Idempotent.

        An import under way is waited for: AstrBot forgets the plugin's modules next, and what came
        after that would be taken for the new ones.
        """
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._loading is not None:
            await asyncio.gather(self._loading, return_exceptions=True)
        self._task = self._loading = None
        here, self.here = self.here, None
        return here

    async def _start_later(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_UP_SECONDS):
                await self._up.wait()
        try:
            await self._start(just_started=self._up.is_set())
        except Exception as error:  # noqa: BLE001  (the last place that can tell)
            self.fault = f"{type(error).__name__}: {error}"
            self._tell(self.fault)

    async def _start(self, *, just_started: bool) -> None:
        self._loading = asyncio.ensure_future(asyncio.to_thread(self._load))
        code = await asyncio.shield(self._loading)
        self.here = await self._make(code, just_started)
