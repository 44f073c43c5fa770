"""A watcher that a test tells what to tell."""

from __future__ import annotations

import asyncio
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory.sync.watcher import Changed, FolderWatcher


class FakeWatcher(FolderWatcher):
    """``missing`` makes it unavailable; ``change`` tells of a change."""

    def __init__(self, *, missing: str = "") -> None:
        super().__init__(Path())
        self.missing = missing
        self.started = asyncio.Event()
        self._listener: Changed | None = None

    async def watch(self, changed: Changed) -> None:
        if self.missing:
            raise OSError(self.missing)
        self._listener = changed
        self.started.set()
        changed([])
        try:
            await asyncio.get_running_loop().create_future()
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
            self._listener(["anything"])
