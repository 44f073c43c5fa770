"""Locks that one opener holds at a time, across processes and inside one: of a directory, and of a
file whose holder says who it is and can prove that it is the holder.

The operating system frees a lock when its holder dies, also by kill -9: none is stale, and the
words that are left then count for nothing. They stand beside the lock file: Windows lets nobody
read one that is locked. A lock file stays for good: who waits for one that was removed would lock
what nobody else looks at, as with ``filelock``, of which some versions remove it.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
import threading
import time
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import Final

from ..errors import DirectoryInUse
from .files import OTHERS, PRIVATE, make_folder

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK_NAME: Final = "owner.lock"
type Words = dict[str, str | int]
"""What a holder says of itself, by name."""

_TOKEN: Final = "token"  # noqa: S105  (the name of a field)
_OWN_FILE: Final = 0o600
"""The token is a secret, whatever the folder's mode."""
_PAUSES: Final = (0.02, 0.03, 0.0)
"""Seconds after each try for a lock: another's look at it holds it for a moment."""
_looking: Final = threading.Lock()
"""Two looks at once would each take the other for the holder."""


class HeldFile:
    """The right to something, held by one opener at a time, in whatever thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: FileIO | None = None
        self.token = ""
        """What proves to ``is_held_with`` that the caller holds the file; empty while not held."""

    def take(self, words: Mapping[str, str | int]) -> bool:
        """Take the file, made if missing, and leave these words and a new token beside it. False
        while another opener holds it. Held already, its words are written where they are not there.
        Blocks.

        Raises OSError: there can be no such file, or its disk knows no locks.
        """
        if self._lock is None:
            make_folder(self._path.parent)
            self._lock = _taken(self._path)
            if self._lock is None:
                return False
            self.token = secrets.token_urlsafe(32)
        if _words(self._path).get(_TOKEN) != self.token:
            line = json.dumps({**words, _TOKEN: self.token}, ensure_ascii=False, sort_keys=True)
            with contextlib.suppress(OSError):  # a full disk: the next call tries it again
                _beside(self._path).unlink(missing_ok=True)
                with FileIO(_beside(self._path), "w", opener=_private) as file:
                    file.write(line.encode(errors="replace") + b"\n")
        return True

    def release(self) -> None:
        """Give the file back. Idempotent."""
        if self._lock is not None:
            self.token = ""
            with contextlib.suppress(OSError):
                _beside(self._path).unlink()
            self._lock.close()
            self._lock = None


def _taken(path: Path) -> FileIO | None:
    """A lock file that is held until it is closed; None where another holds it. Raises OSError."""
    file = FileIO(path, "a", opener=_private)
    for pause in _PAUSES:
        with contextlib.suppress(BlockingIOError, PermissionError):
            _lock(file.fileno())
            return file
        time.sleep(pause)
    file.close()
    return None


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, _OWN_FILE)


if sys.platform == "win32":

    def _lock(descriptor: int) -> None:
        """Raises PermissionError while another has it."""
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:

    def _lock(descriptor: int) -> None:
        """Raises BlockingIOError while another has it."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def holder(path: Path) -> Words | None:
    """Returns what the present holder says of itself: nothing where the words cannot be read. None
    if nobody holds the file. Blocks. Raises OSError."""
    with _looking:
        if not path.exists():
            return None
        look = _taken(path)
        if look is None:
            return _words(path)
        look.close()
        return None


def is_held_with(path: Path, token: str) -> bool:
    """True if somebody holds the file now, and this is the holder's token. Blocks. Raises
    OSError."""
    held = str((holder(path) or {}).get(_TOKEN, ""))
    shown, asked = (said.encode("utf-8", "surrogatepass") for said in (held, token))
    return held != "" and secrets.compare_digest(shown, asked)


def _words(path: Path) -> Words:
    """What was left beside a lock file, whether it is held or not."""
    try:
        found = json.loads(_beside(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    fields = found.items() if isinstance(found, dict) else ()
    return {name: value for name, value in fields if isinstance(value, str | int)}


def _beside(path: Path) -> Path:
    return path.with_suffix(".json")


class DirectoryLock:
    """The right to use a directory: two owners of a store would each write what the other does not
    know of.

    The same directory by a relative path, a link or another opener in this process is the same
    directory: what counts is the real path and the lock file in it.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(os.path.realpath(path))
        """Open the directory under this name only."""
        self._file = HeldFile(self.path / LOCK_NAME)

    def acquire(self) -> None:
        """Take the directory, made if missing. Taking it again is no error. The first who ever
        takes it closes it to all other users of the machine; what its owner opens later stays so.

        Raises:
            DirectoryInUse: another opener has it.
            OSError: it cannot be made, or its file system knows no locks.
        """
        self.path.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
        if not (self.path / LOCK_NAME).exists():
            with contextlib.suppress(OSError):  # not ours, or on a disk that takes no changes
                self.path.chmod(self.path.stat().st_mode & 0o777 & ~OTHERS)
        if not self._file.take({"pid": os.getpid()}):
            raise DirectoryInUse(str(self.path))

    def release(self) -> None:
        """Give the directory back. Idempotent."""
        self._file.release()


def is_free(path: Path) -> bool:
    """Returns whether a directory could be had just now. Blocks. Raises OSError."""
    return holder(path / LOCK_NAME) is None


def signed_pid(folder: Path) -> int | None:
    """Returns the process that has a directory, as it says; None where none says so."""
    pid = _words(folder / LOCK_NAME).get("pid")
    return pid if isinstance(pid, int) else None
