"""One owner for a directory, across processes and inside one.

Two owners of an index directory lose vectors silently, so the second opener gets a clear error.
The operating system frees the lock when its holder dies, also by kill -9: there is no stale lock.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any, Final, Protocol

from ..errors import DirectoryInUse
from .files import PRIVATE, opener

LOCK_NAME: Final = "owner.lock"

type Opener = Callable[[str, int], int]
"""Gives a descriptor for a path and flags, as ``open`` asks for it."""


class FileLocking(Protocol):
    """How an operating system locks an open file, for this opener alone."""

    def lock(self, fd: int) -> bool:
        """Lock at once or not at all: False if another opener holds it. Raises OSError."""
        ...

    def unlock(self, fd: int) -> None:
        """Free a lock that is held. Raises OSError."""
        ...


class FlockLocking:
    """POSIX. ``flock`` belongs to the open file, unlike ``lockf``, which a process shares."""

    def __init__(self) -> None:
        self._fcntl: Any = importlib.import_module("fcntl")

    def lock(self, fd: int) -> bool:
        try:
            self._fcntl.flock(fd, self._fcntl.LOCK_EX | self._fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(self, fd: int) -> None:
        self._fcntl.flock(fd, self._fcntl.LOCK_UN)


class MsvcrtLocking:
    """Windows. The locked byte lies far behind the text: a locked byte cannot be read."""

    BYTE: Final = 1 << 30

    def __init__(self, msvcrt: Any = None) -> None:
        self._msvcrt: Any = msvcrt or importlib.import_module("msvcrt")

    def lock(self, fd: int) -> bool:
        os.lseek(fd, self.BYTE, os.SEEK_SET)
        try:
            self._msvcrt.locking(fd, self._msvcrt.LK_NBLCK, 1)
        except PermissionError:  # EACCES is how it says "held by another"
            return False
        return True

    def unlock(self, fd: int) -> None:
        os.lseek(fd, self.BYTE, os.SEEK_SET)
        self._msvcrt.locking(fd, self._msvcrt.LK_UNLCK, 1)


def system_locking() -> FileLocking:
    """The way of locking of the system we run on."""
    return MsvcrtLocking() if sys.platform == "win32" else FlockLocking()


class DirectoryLock:
    """The right to use a directory, held by one opener at a time.

    The same directory by a relative path, a link or another opener in this process is the same
    directory: what counts is the real path and the lock file in it.
    """

    def __init__(self, path: Path | str, *, locking: FileLocking | None = None) -> None:
        """``locking`` is the system's own unless a test brings another."""
        self._path = Path(path)
        self._locking = locking
        self._file: FileIO | None = None

    @property
    def held(self) -> bool:
        """True between acquire and release."""
        return self._file is not None

    @property
    def path(self) -> Path:
        """The directory's real path: open it under this name only."""
        return Path(os.path.realpath(self._path))

    def acquire(self) -> None:
        """Take the directory, made if missing. Taking it again is no error.

        Raises:
            DirectoryInUse: another opener has it.
            OSError: it cannot be made, or its file system knows no locks.
        """
        if self._file is not None:
            return
        real = self.path
        real.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
        locking = self._locking or system_locking()
        self._locking = locking
        self._file = take_file(real / LOCK_NAME, locking)
        if self._file is None:
            raise DirectoryInUse(str(real))
        _sign(self._file)

    def release(self) -> None:
        """Give the directory back. Idempotent. The lock file stays: removing it would race."""
        file, self._file = self._file, None
        if file is None or self._locking is None:
            return
        try:
            with suppress(OSError):  # closing frees it too
                file.truncate(0)
                self._locking.unlock(file.fileno())
        finally:
            file.close()


def is_free(path: Path) -> bool:
    """Returns whether a directory could be had just now. Blocks."""
    lock = DirectoryLock(path)
    try:
        lock.acquire()
    except DirectoryInUse:
        return False
    lock.release()
    return True


def take_file(path: Path, locking: FileLocking, *, opener: Opener = opener) -> FileIO | None:
    """Open and lock a file, made if missing. None while another opener holds it.

    Raises OSError.
    """
    while True:
        file = FileIO(path, "a+", opener=opener)
        locked = current = False
        try:
            locked = locking.lock(file.fileno())
            # A file that was removed before it was locked is one that nobody else looks at.
            current = path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())
        finally:
            if not (locked and current):
                file.close()
        if not locked:
            return None
        if current:
            return file


def _sign(file: FileIO) -> None:
    """Name the owner for people. A full disk doesn't matter here: the lock is held."""
    with suppress(OSError):
        file.truncate(0)
        file.write(f"pid {os.getpid()}\n".encode())


def signed_pid(folder: Path) -> int | None:
    """Returns the process that has a directory, as its lock says; None where none says so."""
    with suppress(OSError, ValueError):
        signed = (folder / LOCK_NAME).read_text(encoding="ascii")
        return int(signed.removeprefix("pid "))
    return None
