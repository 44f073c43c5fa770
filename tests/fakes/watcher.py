"""A watcher that a test tells what to tell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from astrbot_plugin_scoped_memory.llm_memory.sync.ports import WatchUnavailable


class FakeWatcher:
    """The port Watcher. ``missing`` makes it unavailable; ``change`` tells of a change."""

    def __init__(self, *, missing: str = "") -> None:
        self.missing = missing
        self.started = asyncio.Event()
        self._listener: Callable[[], None] | None = None
        self._broken: asyncio.Future[str] | None = None

    async def watch(
        self,
        started: Callable[[], None],
        changed: Callable[[], None],
        concerns: Callable[[Collection[str]], bool],
    ) -> None:
        if self.missing:
            raise WatchUnavailable(self.missing)
        self._broken = asyncio.get_running_loop().create_future()
        self._listener = changed
        started()
        self.started.set()
        try:
            raise WatchUnavailable(await self._broken)
        finally:
            self._listener = None
            self.started.clear()

    @property
    def is_watched(self) -> bool:
        """Somebody listens."""
        return self._listener is not None

    def change(self) -> None:
        """Something was written."""
        if self._listener is not None:
            self._listener()

    def fail(self, why: str) -> None:
        """It tells no more."""
        if self._broken is not None and not self._broken.done():
            self._broken.set_result(why)
