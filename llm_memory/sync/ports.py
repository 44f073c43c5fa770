"""Who tells of changes below a folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..errors import ScopedMemoryError


class WatchUnavailable(ScopedMemoryError):
    """Nobody tells of changes here: a package is missing, the system has no room for one more
    watcher, or the folder lies on a disk that other machines write to."""


class Watcher(Protocol):
    """One folder and all below it."""

    async def watch(self, started: Callable[[], None], changed: Callable[[], None]) -> None:
        """Call ``started`` once, then ``changed`` soon after something was changed, made, moved or
        removed. Both on the event loop.

        Runs until cancelled, and then ends within a second. Raises WatchUnavailable, also when it
        stops being told.
        """
        ...
