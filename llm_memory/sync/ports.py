"""Port for notifications of changes below a folder."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from ..errors import ScopedMemoryError


class WatchUnavailable(ScopedMemoryError):
    """Changes cannot be watched: a package is missing, the system has no room for one more watcher,
    or the folder is on a disk that other machines write to."""


class Watcher(Protocol):
    """Watches one folder and all below it."""

    async def watch(
        self,
        started: Callable[[], None],
        changed: Callable[[], None],
        concerns: Callable[[Collection[str]], bool],
    ) -> None:
        """Call ``started`` once, then ``changed`` soon after a file was changed, created, moved or
        removed, unless ``concerns`` says that these paths do not matter. The first two are called
        on the event loop, the last in a thread.

        Runs until cancelled, and then ends within a second. Raises WatchUnavailable, also when
        notifications end later.
        """
        ...
