"""When the files are looked at: soon after a change, and now and then."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from ..errors import EngineClosed, StateUnavailable, VaultError
from ..log import logger
from ..models.settings import VaultPace
from .ports import Watcher, WatchUnavailable
from .reconciler import Reconciler

_LONGEST_BURST = 8
"""Debounce times: files that never stop changing are looked at all the same."""
_REST_FACTOR = 20
"""A look that takes a second is not repeated for twenty."""
_WATCH_AGAIN = (60.0, 600.0, 3600.0)
"""Seconds after the first, second, … time that nobody tells of changes."""


class VaultFollower:
    """``run`` is its one task; it ends by cancellation, and the watcher with it.

    ``also`` is done after each round: what else follows the files.
    """

    def __init__(
        self,
        reconciler: Reconciler,
        watcher: Watcher,
        pace: VaultPace,
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
        watch = asyncio.create_task(self._watch(), name="scoped-memory-watch")
        try:
            while True:
                seconds = await self._round()
                await self._wait(seconds)
        finally:
            self._reconciler.stop()
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)

    async def _round(self) -> float:
        """Look once; the seconds until the next look."""
        began = time.monotonic()
        try:
            # Nothing writes to the vault once this task has ended: it may be another's by then.
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
            logger.warning("没能跟上记忆文件的变化，稍后再试：{}", error)
        except Exception as error:  # noqa: BLE001  (what one look meets must not end all others)
            logger.error("跟进记忆文件的变化时出错，稍后再试：{!r}", error)
        took = time.monotonic() - began
        pause = self._pace.rare_scan_seconds if self.watching else self._pace.scan_seconds
        pause = max(pause, _REST_FACTOR * took)
        due = self._reconciler.next_due
        return pause if due is None else min(pause, due + self._pace.debounce_seconds / 10)

    async def _wait(self, seconds: float) -> None:
        """Until it is time, or something changed and nothing more has for a moment."""
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
        """Be told of changes; where nobody tells, ask again later."""
        failures = 0
        while True:
            try:
                await self._watcher.watch(self._started, self._woken.set)
            except WatchUnavailable as error:
                if self.watching:
                    self.watching, failures = False, 0
                    self._woken.set()  # from now on the looks follow one another sooner
                seconds = self._pace.scan_seconds
                logger.info(
                    "没有人告知记忆文件的变化（{}），改为每 {:.0f} 秒看一次", error, seconds
                )
            await asyncio.sleep(_WATCH_AGAIN[min(failures, len(_WATCH_AGAIN) - 1)])
            failures += 1

    def _started(self) -> None:
        self.watching = True
        self._woken.set()  # what changed before it began was told by nobody
