"""Schedules the rounds: soon after a change, and each minute for what no watcher reports."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from ..errors import StateUnavailable, VaultError
from ..log import logger
from ..models.settings import Pace
from ..runtime.shielded import shielded
from .reconciler import Reconciler
from .watcher import Watcher

_LONGEST_BURST = 8
"""In debounce times: after so long a round runs although files keep changing."""
_REST_FACTOR = 20
"""After a round of one second the next is at least twenty seconds later."""


class VaultFollower:
    """``also`` runs after each round, for other followers of the files."""

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

    async def run(self) -> None:
        """Until cancelled. A round under way is ended first: another process may own the vault
        then."""
        watching = asyncio.create_task(self._watch(), name="scoped-memory-watch")
        try:
            while True:
                await self._wait(await self._round())
        finally:
            watching.cancel()
            await asyncio.wait([watching])

    async def _round(self) -> float:
        """Run one round. Returns the seconds until the next."""
        began = time.monotonic()
        try:
            await shielded(self._reconciler.reconcile())
            await self._also()
        except (VaultError, StateUnavailable, OSError) as error:
            logger.warning("files_not_followed", error=error)
        pause = max(self._pace.scan_seconds, _REST_FACTOR * (time.monotonic() - began))
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
        """Watch for changes. Where that is not possible, the rounds go on, and it is tried again
        each time that one is due."""
        told = False
        while True:
            try:
                await self._watcher.watch(self._woken.set, self._reconciler.concerns)
                told = False
            except Exception as error:  # noqa: BLE001  (no package, no room for watches, no folder)
                if not told:
                    seconds = round(self._pace.scan_seconds)
                    logger.info("files_polled", error=error, seconds=seconds)
                told = True
            await asyncio.sleep(self._pace.scan_seconds)
