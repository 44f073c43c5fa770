"""A lock file whose holder says who it is, and can prove to another process that it is the holder.

The operating system frees the lock when the holder dies, also by kill -9: no lock is stale, and the
words that are left then count for nothing. They stand beside the lock file: an older ``filelock``
empties a file that it looks at, and Windows lets nobody read one that is locked.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from .files import make_folder

type Words = dict[str, str | int]
"""What a holder says of itself, by name."""

_TOKEN: Final = "token"  # noqa: S105  (the name of a field)
_PRIVATE: Final = 0o600
"""The token is a secret, whatever the folder's mode."""
_SECONDS: Final = 0.05
"""How long a lock is waited for: another's look at it holds it for a moment."""
_looking: Final = threading.Lock()
"""Two looks at once would each take the other for the holder."""


class HeldFile:
    """The right to something, held by one opener at a time, in whatever thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = FileLock(path, timeout=_SECONDS, mode=_PRIVATE, thread_local=False)
        self._token = ""

    @property
    def token(self) -> str:
        """What proves to ``is_held_with`` that the caller holds the file; empty while not held."""
        return self._token

    def take(self, words: Mapping[str, str | int]) -> bool:
        """Take the file, made if missing, and leave these words and a new token beside it. False
        while another opener holds it; True if it is held already. Blocks.

        Raises OSError: there can be no such file, or its disk knows no locks.
        """
        if self._token:
            return True
        make_folder(self._path.parent)
        try:
            self._lock.acquire(poll_interval=_SECONDS / 3)
        except Timeout:
            return False
        self._token = secrets.token_urlsafe(32)
        line = json.dumps({**words, _TOKEN: self._token}, ensure_ascii=False, sort_keys=True)
        with contextlib.suppress(OSError):  # a full disk: it is held all the same
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            with os.fdopen(os.open(_beside(self._path), flags, _PRIVATE), "wb") as file:
                file.write(line.encode(errors="replace") + b"\n")
        return True

    def release(self) -> None:
        """Give the file back. Idempotent."""
        if self._token:
            self._token = ""
            with contextlib.suppress(OSError):
                _beside(self._path).unlink()
            self._lock.release()


def holder(path: Path) -> Words | None:
    """Returns what the present holder says of itself, without its token: nothing where the words
    cannot be read. None if nobody holds the file. Blocks. Raises OSError."""
    words = _held_words(path)
    return None if words is None else {n: value for n, value in words.items() if n != _TOKEN}


def is_held_with(path: Path, token: str) -> bool:
    """True if somebody holds the file now, and this is the holder's token. Blocks. Raises
    OSError."""
    held = str((_held_words(path) or {}).get(_TOKEN, ""))
    shown, asked = (said.encode("utf-8", "surrogatepass") for said in (held, token))
    return held != "" and secrets.compare_digest(shown, asked)


def words_of(path: Path) -> Words:
    """Returns what was left beside a lock file, whether it is held or not; nothing where it cannot
    be read."""
    try:
        found = json.loads(_beside(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    fields = found.items() if isinstance(found, dict) else ()
    return {name: value for name, value in fields if isinstance(value, str | int)}


def _held_words(path: Path) -> Words | None:
    with _looking:
        if not path.exists():
            return None
        look = FileLock(path, timeout=_SECONDS)
        try:
            look.acquire(poll_interval=_SECONDS / 3)
        except Timeout:
            return words_of(path)
        look.release()
        return None


def _beside(path: Path) -> Path:
    return path.with_suffix(".json")
