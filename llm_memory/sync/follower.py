"""Schedules the rounds: soon after a change, and each minute for what no watcher reports."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field

from ..errors import StateUnavailable, VaultError
from ..log import logger
from ..models.settings import Pace
from ..runtime.lifecycle import shielded
from .reconciler import Reconciler
from .watcher import FolderWatcher

_LONGEST_BURST = 8
"""In debounce times: after so long a round runs although files keep changing."""


@dataclass(eq=False)
class VaultFollower:
    """``run`` is its one task."""

    _reconciler: Reconciler
    _watcher: FolderWatcher
    _pace: Pace
    _also: Callable[[], Awaitable[None]]
    """Runs after each round, for other followers of the files."""
    _woken: asyncio.Event = field(init=False, default_factory=asyncio.Event)

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
        try:
            await shielded(self._reconciler.reconcile())
            await self._also()
        except (VaultError, StateUnavailable, OSError) as error:
            logger.warning("files_not_followed", error=error)
        pause, due = self._pace.scan_seconds, self._reconciler.next_due
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
        told, loop = False, asyncio.get_running_loop()

        def changed(paths: Collection[str]) -> None:
            # What came before the watch began was not told.
            if not paths or self._reconciler.concerns(paths):
                loop.call_soon_threadsafe(self._woken.set)

        while True:
            try:
                await self._watcher.watch(changed)
                told = False
            except Exception as error:  # noqa: BLE001  (no package, no room for watches, no folder)
                if not told:
                    seconds = round(self._pace.scan_seconds)
                    logger.info("files_polled", error=error, seconds=seconds)
                told = True
            await asyncio.sleep(self._pace.scan_seconds)
