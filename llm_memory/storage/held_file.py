"""A lock file that says who holds it, and lets the holder prove it to another process.

The operating system frees the lock when the holder dies, also by kill -9; the words that are left
in the file then count for nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import threading
import time
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import Final

from .directory_lock import FileLocking, system_locking, take_file
from .files import make_folder, write_all

type Words = dict[str, str | int]
"""What a holder says of itself, by name."""

_TOKEN: Final = "token"  # noqa: S105  (the name of a field)
_PRIVATE: Final = 0o600
_MOST_BYTES: Final = 4096
_TRIES: Final = 3
_PAUSE: Final = 0.02
"""Seconds between two tries to take a file: a look at it holds the lock for a moment."""

_looking: Final = threading.Lock()
"""Two looks at once would each take the other for the holder."""


class HeldFile:
    """The right to something, held by one opener at a time. The file stays when it is given back:
    removing it would race."""

    def __init__(self, path: Path, *, locking: FileLocking | None = None) -> None:
        """``locking`` is the system's own unless a test brings another."""
        self._path = path
        self._locking = locking or system_locking()
        self._file: FileIO | None = None
        self._token = ""

    @property
    def token(self) -> str:
        """What proves to ``is_held_with`` that the caller holds the file; empty while not held."""
        return self._token

    def take(self, words: Mapping[str, str | int]) -> bool:
        """Take the file, made if missing, and write these words and a new token into it as one line
        of JSON. False while another opener holds it; True if it is held already. Blocks.

        Raises OSError: the disk cannot be written, or knows no locks. Nothing is held then.
        """
        if self._file is not None:
            return True
        make_folder(self._path.parent)
        file = self._locked()
        if file is None:
            return False
        token = secrets.token_urlsafe(32)
        line = json.dumps({**words, _TOKEN: token}, ensure_ascii=False, sort_keys=True)
        try:
            file.truncate(0)
            write_all(file, line.encode("utf-8", "replace") + b"\n")
        except OSError:
            file.close()
            raise
        self._file, self._token = file, token
        return True

    def _locked(self) -> FileIO | None:
        for number in range(_TRIES):
            if number:
                time.sleep(_PAUSE)
            if file := take_file(self._path, self._locking, opener=_open_private):
                return file
        return None

    def release(self) -> None:
        """Give the file back. Idempotent."""
        file, self._file, self._token = self._file, None, ""
        if file is None:
            return
        try:
            with contextlib.suppress(OSError):  # closing frees it, too
                file.truncate(0)
                self._locking.unlock(file.fileno())
        finally:
            file.close()


def _open_private(path: str, flags: int) -> int:
    """The token is a secret, whatever the folder's mode."""
    return os.open(path, flags, _PRIVATE)


def holder(path: Path, *, locking: FileLocking | None = None) -> Words | None:
    """Returns what the present holder says of itself, without its token: nothing where the words
    cannot be read. None if nobody holds the file. Blocks. Raises OSError."""
    words = _words(path, locking)
    return None if words is None else {n: value for n, value in words.items() if n != _TOKEN}


def is_held_with(path: Path, token: str, *, locking: FileLocking | None = None) -> bool:
    """True if somebody holds the file now, and this is the holder's token. Blocks. Raises
    OSError."""
    held = str((_words(path, locking) or {}).get(_TOKEN, ""))
    shown, asked = (said.encode("utf-8", "surrogatepass") for said in (held, token))
    return held != "" and secrets.compare_digest(shown, asked)


def _words(path: Path, locking: FileLocking | None) -> Words | None:
    locking = locking or system_locking()
    try:
        file = FileIO(path, "r")
    except FileNotFoundError:
        return None
    with _looking, file:
        if locking.lock(file.fileno()):
            locking.unlock(file.fileno())
            return None
        file.seek(0)  # where the lock was tried, the position may have moved
        raw = file.read(_MOST_BYTES)
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    fields = found.items() if isinstance(found, dict) else ()
    return {name: value for name, value in fields if isinstance(value, str | int)}
