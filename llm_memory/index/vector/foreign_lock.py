"""Whether another process holds Chroma's database just now.

Chroma waits for such a lock without an end, and holds the interpreter's lock meanwhile: one backup
or database browser, and the whole bot would stand still. So we look first, and do without.
"""

from __future__ import annotations

import importlib
import os
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ...errors import IndexUnavailable

BUSY: Final = "busy"
PATIENCE: Final = 1.0
"""Seconds: most others are done in a moment."""
_POLL_SECONDS: Final = 0.02

# Where SQLite's locks lie in the file (https://www.sqlite.org/src/file/src/os_unix.c): one pending
# byte, one reserved, and 510 shared ones.
_PENDING: Final = 0x40000000
_SHARED: Final = _PENDING + 2
_END: Final = _SHARED + 510
_LAYOUTS: Final = {"linux": "hhqqi4x", "darwin": "qqihh"}
"""Of ``struct flock`` on 64-bit systems: type, whence, start, length, pid; or start first."""


class ForeignLock:
    """Of one file. Elsewhere than on Linux and macOS, where it cannot be told, none
    counts as there.

    ``close`` only when Chroma has closed the file: closing any handle of it gives up the locks that
    this process holds on it.
    """

    def __init__(
        self,
        path: Path,
        *,
        patience: float = PATIENCE,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._path = path
        self._patience = patience
        self._sleep = sleep
        self._layout = _LAYOUTS.get(sys.platform, "") if sys.maxsize > 2**32 else ""
        self._handle: int | None = None

    def open(self) -> None:
        """The file must be there. Idempotent; without a right to look none counts as there."""
        if self._layout and self._handle is None:
            try:
                self._handle = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                self._handle = None

    def wait(self, *, to_write: bool) -> None:
        """Wait until no other program blocks a reader, or a writer.

        Raises:
            IndexUnavailable: ``busy``, another program still does, or did when this was closed.
        """
        waited = 0.0
        while self._held(to_write=to_write):
            if waited >= self._patience:
                raise IndexUnavailable(f"{self._path.name} is locked", code=BUSY)
            self._sleep(_POLL_SECONDS)
            waited += _POLL_SECONDS
        if waited and self._handle is None:  # closed meanwhile, and Chroma with it
            raise IndexUnavailable(f"{self._path.name} was locked", code=BUSY)

    def _held(self, *, to_write: bool) -> bool:
        handle = self._handle  # another thread may close it
        if handle is None:
            return False
        fcntl: Any = importlib.import_module("fcntl")
        # A reader is blocked by a program that writes the pages or is about to; a writer also by
        # readers.
        kind = fcntl.F_WRLCK if to_write else fcntl.F_RDLCK
        first = _PENDING if to_write else _SHARED
        try:
            answer = fcntl.fcntl(handle, fcntl.F_GETLK, self._packed(kind, first, _END))
            pending = fcntl.fcntl(handle, fcntl.F_GETLK, self._packed(kind, _PENDING, _PENDING + 1))
        except OSError:  # a disk that knows no locks, or closed
            return False
        unlocked = fcntl.F_UNLCK
        return bool(self._kind(answer) != unlocked or self._kind(pending) != unlocked)

    def _packed(self, kind: int, start: int, end: int) -> bytes:
        length = end - start
        if self._layout[0] == "h":
            return struct.pack(self._layout, kind, os.SEEK_SET, start, length, 0)
        return struct.pack(self._layout, start, length, 0, kind, os.SEEK_SET)

    def _kind(self, answer: bytes) -> int:
        place = 0 if self._layout[0] == "h" else 3
        return int(struct.unpack(self._layout, answer)[place])

    def close(self) -> None:
        """Idempotent."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)
