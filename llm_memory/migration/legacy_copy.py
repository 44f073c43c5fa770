"""Copying a SQLite file that another program may be writing to."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ..storage.files import RESERVE, KeptOpen, free_bytes, keep_open, make_folder

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_TRIES: Final = 3
_kept: Final[KeptOpen] = {}
"""For good: a plugin of this process may have them open."""
_copying: Final = threading.Lock()


class CopyFailed(Exception):
    """There is no whole copy. ``code``: ``full``, ``changing``, ``unreadable``."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


def files_of(source: Path) -> list[Path]:
    """A SQLite file with what belongs to it."""
    parts = [source, *(source.with_name(source.name + end) for end in ("-wal", "-journal"))]
    return [part for part in parts if part.exists()]


def fingerprint(source: Path) -> str:
    """Changes with names, sizes and times of a store's files. Raises OSError."""
    rows = []
    for path in files_of(source):
        status = path.stat()
        rows.append([path.name, status.st_size, status.st_mtime_ns])
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:32]


def copy_store(
    source: Path,
    target: Path,
    *,
    free: Callable[[Path], int] = free_bytes,
    wait: Callable[[float], None] = time.sleep,
) -> Path:
    """The path of a copy in a folder ``target``, which is made. Blocks.

    Raises CopyFailed; what was copied is left for the caller to remove.
    """
    for attempt in range(_TRIES):
        if attempt:
            wait(float(attempt))
        try:
            before = fingerprint(source)
            copied = _copied(source, target, free)
            if fingerprint(source) == before:
                return copied
        except FileNotFoundError as error:  # a log that was just worked off
            if attempt + 1 == _TRIES:
                raise CopyFailed("unreadable", str(error)) from error
        except OSError as error:
            code = "full" if error.errno in _FULL else "unreadable"
            raise CopyFailed(code, f"{source.name}: {error.strerror or error}") from error
    raise CopyFailed("changing", f"{source.name}: somebody writes to it all the time")


def _copied(source: Path, target: Path, free: Callable[[Path], int]) -> Path:
    files = files_of(source)
    shutil.rmtree(target, ignore_errors=True)  # a log of the try before is none of this one's
    make_folder(target)
    need = sum(path.stat().st_size for path in files)
    left = free(target)
    if left - need < RESERVE:
        raise CopyFailed("full", f"{need >> 20} MB needed, {left >> 20} MB free")
    for path in files:
        _copy(path, target / path.name)
    return target / source.name


def _copy(source: Path, target: Path) -> None:
    if os.name == "nt" or source.name.endswith(("-wal", "-journal")):  # where nobody has a lock
        shutil.copyfile(source, target)
    else:
        with _copying, target.open("xb") as file:
            shutil.copyfileobj(keep_open(source, _kept), file)
