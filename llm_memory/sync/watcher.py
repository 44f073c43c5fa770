"""Tells of changes below a folder, with ``watchfiles`` in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_STEP_MS = 300
"""The thread checks at this interval whether to stop."""
_SAME_FOLDER_MS = 1_000
"""Another folder in the place of the watched one is noticed within this time."""


type Changed = Callable[[Collection[str]], object]
"""Is called in a thread soon after files of these paths were changed, made, moved or removed; and
without a path once the watch has begun."""


class FolderWatcher:
    """Watches one folder and all below it. ``watchfiles`` is imported when it is needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def watch(self, changed: Changed) -> None:
        """Runs until cancelled, and then ends within a second. Raises what keeps changes from being
        watched; returns where another folder has taken this one's place."""
        stop = threading.Event()
        # A pool of its own: the default one has few threads, and this one stays occupied.
        pool = ThreadPoolExecutor(1, "scoped-memory-watch")
        work = asyncio.get_running_loop().run_in_executor(pool, self._watch, stop, changed)
        try:
            await asyncio.shield(work)
        finally:
            stop.set()
            await asyncio.wait([work])
            pool.shutdown()

    def _watch(self, stop: threading.Event, changed: Changed) -> None:
        """Blocks."""
        from watchfiles import watch

        watched = self._folder.stat().st_ino
        batches = watch(
            self._folder,
            watch_filter=None,  # the reconciler recognises editors' own files
            debounce=4 * _STEP_MS,
            step=_STEP_MS,
            stop_event=stop,
            rust_timeout=_SAME_FOLDER_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            force_polling=False,
            ignore_permission_denied=True,
        )
        begun = False
        for batch in batches:
            if not begun:
                changed([])
                begun = True
            if batch:
                changed([path for _, path in batch])
            # A folder that was moved away, or has another disk mounted over it, is still the one
            # watched, and changes in its replacement are not reported.
            if self._folder.stat().st_ino != watched:
                return
