"""One owner for a directory, across processes and inside one: two owners of a store would each
write what the other does not know of."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..errors import DirectoryInUse
from .files import OTHERS, PRIVATE
from .held_file import HeldFile, words_of

LOCK_NAME: Final = "owner.lock"


class DirectoryLock:
    """The right to use a directory, held by one opener at a time.

    The same directory by a relative path, a link or another opener in this process is the same
    directory: what counts is the real path and the lock file in it.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._file: HeldFile | None = None

    @property
    def path(self) -> Path:
        """The directory's real path: open it under this name only."""
        return Path(os.path.realpath(self._path))

    def acquire(self) -> None:
        """Take the directory, made if missing. Taking it again is no error. The first who ever
        takes it closes it to all other users of the machine; what its owner opens later stays so.

        Raises:
            DirectoryInUse: another opener has it.
            OSError: it cannot be made, or its file system knows no locks.
        """
        if self._file is not None:
            return
        real = self.path
        real.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
        if not (real / LOCK_NAME).exists():
            with suppress(OSError):  # not ours to change, or on a disk that takes no changes
                real.chmod(real.stat().st_mode & 0o777 & ~OTHERS)
        file = HeldFile(real / LOCK_NAME)
        if not file.take({"pid": os.getpid()}):
            raise DirectoryInUse(str(real))
        self._file = file

    def release(self) -> None:
        """Give the directory back. Idempotent."""
        if self._file is not None:
            self._file.release()
            self._file = None


def is_free(path: Path) -> bool:
    """Returns whether a directory could be had just now. Blocks."""
    lock = DirectoryLock(path)
    try:
        lock.acquire()
    except DirectoryInUse:
        return False
    lock.release()
    return True


def signed_pid(folder: Path) -> int | None:
    """Returns the process that has a directory, as it says; None where none says so."""
    pid = words_of(folder / LOCK_NAME).get("pid")
    return pid if isinstance(pid, int) else None
