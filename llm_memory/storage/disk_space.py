"""Is there room for a write? Asked before it: a disk that fills up in the middle of one breaks an
index."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ..errors import IndexFull

RESERVE: Final = 64 << 20
"""Bytes that stay free: the vault, AstrBot and the system want to write, too."""
_FRESH_SECONDS: Final = 1.0


def free_bytes(path: Path) -> int:
    """Bytes that we may still write on the disk of ``path``. Raises OSError."""
    return shutil.disk_usage(path).free


class DiskSpace:
    """The disk that a folder lies on. Asks it once a second at most."""

    def __init__(
        self,
        folder: Path,
        *,
        reserve: int = RESERVE,
        free: Callable[[Path], int] = free_bytes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``free`` gives the free bytes of a path's disk, ``clock`` seconds."""
        self._folder = folder
        self._reserve = reserve
        self._free = free
        self._clock = clock
        self._asked = float("-inf")
        self._left = 0

    def has(self, need: int, *, reserve: int | None = None) -> bool:
        """``need`` bytes, after what was taken since the disk was asked, leave the reserve free.

        ``reserve`` may be another one, for what is small and must be.

        True where the disk does not say how full it is.
        """
        now = self._clock()
        if now - self._asked >= _FRESH_SECONDS:
            try:
                self._left = self._free(self._folder)
            except OSError:
                return True
            self._asked = now
        return self._left - need >= (self._reserve if reserve is None else reserve)

    def take(self, need: int) -> None:
        """Reserve so many bytes for a write.

        Raises:
            IndexFull: they would not leave the reserve free.
        """
        if not self.has(need):
            raise IndexFull(f"{self._left >> 20} MB free, {self._reserve >> 20} MB stay free")
        self._left -= need
