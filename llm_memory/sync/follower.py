"""Schedules the rounds: soon after a change, and at intervals."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from ..errors import EngineClosed, StateUnavailable, VaultError
from ..log import logger
from ..models.settings import Pace
from .ports import Watcher, WatchUnavailable
from .reconciler import Reconciler

_LONGEST_BURST = 8
"""In debounce times: after so long a round runs although files keep changing."""
_REST_FACTOR = 20
"""After a round of one second the next is at least twenty seconds later."""
_WATCH_AGAIN = (60.0, 600.0, 3600.0)
"""Seconds until the next attempt at watching, after the first, second, … failure."""


class VaultFollower:
    """``run`` is its one task; cancelling it stops the watcher, too.

    ``also`` runs after each round, for other followers of the files.
    """

    def __init__(
        self,
        reconciler: Reconciler,
        watcher: Watcher,
        pace: Pace,
        also: Callable[[], Awaitable[None]],
    ) -> None:
        self._reconciler = reconciler
        self._watcher = watcher
        self._pace = pace
        self._also = also
        self._woken = asyncio.Event()
        self.watching = False

    async def run(self) -> None:
        """Until cancelled."""
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._watch(), name="scoped-memory-watch")
                while True:
                    seconds = await self._round()
                    await self._wait(seconds)
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed  # the first of the two ends both
        finally:
            self._reconciler.stop()

    async def _round(self) -> float:
        """Run one round. Returns the seconds until the next."""
        began = time.monotonic()
        try:
            # The round must end before this task does: another process may own the vault then.
            look = asyncio.ensure_future(self._reconciler.reconcile())
            try:
                await asyncio.shield(look)
            except asyncio.CancelledError:
                self._reconciler.stop()
                await asyncio.wait([look])
                raise
            await self._also()
        except EngineClosed:
            raise
        except (VaultError, StateUnavailable, OSError) as error:
            logger.warning("files_not_followed", error=error)
        except Exception as error:  # noqa: BLE001  (an error in one round must not end all others)
            logger.error("files_not_followed", error=repr(error))
        took = time.monotonic() - began
        pause = self._pace.rare_scan_seconds if self.watching else self._pace.scan_seconds
        pause = max(pause, _REST_FACTOR * took)
        due = self._reconciler.next_due
        return pause if due is None else min(pause, due + self._pace.debounce_seconds / 10)

    async def _wait(self, seconds: float) -> None:
        """Wait for the time to pass, or for a change followed by a short quiet period."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
            until = time.monotonic() + _LONGEST_BURST * self._pace.debounce_seconds
            while time.monotonic() < until:
                self._woken.clear()
                async with asyncio.timeout(self._pace.debounce_seconds):
                    await self._woken.wait()
        self._woken.clear()

    async def _watch(self) -> None:
        """Watch for changes; if that is unavailable, try again later."""
        failures = 0
        while True:
            try:
                concerns = self._reconciler.concerns
                await self._watcher.watch(self._started, self._woken.set, concerns)
            except WatchUnavailable as error:
                if self.watching:
                    self.watching, failures = False, 0
                    self._woken.set()  # from now on rounds run at shorter intervals
                seconds = self._pace.scan_seconds
                logger.info("files_polled", error=error, seconds=round(seconds))
            await asyncio.sleep(_WATCH_AGAIN[min(failures, len(_WATCH_AGAIN) - 1)])
            failures += 1

    def _started(self) -> None:
        self.watching = True
        self._woken.set()  # changes before the watch began were not reported
