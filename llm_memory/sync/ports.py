"""Port for notifications of changes below a folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..errors import ScopedMemoryError


class WatchUnavailable(ScopedMemoryError):
    """Changes cannot be watched: a package is missing, the system has no room for one more watcher,
    or the folder is on a disk that other machines write to."""


class Watcher(Protocol):
    """Watches one folder and all below it."""

    async def watch(self, started: Callable[[], None], changed: Callable[[], None]) -> None:
        """Call ``started`` once, then ``changed`` soon after a file was changed, created, moved or
        removed. Both are called on the event loop.

        Runs until cancelled, and then ends within a second. Raises WatchUnavailable, also when
        notifications end later.
        """
        ...
