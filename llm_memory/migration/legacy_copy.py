"""Copying a store that another program may be writing to, and that may be full of holes."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from ..storage.disk_space import RESERVE, free_bytes
from ..storage.files import make_folder, opener, write_all

_PIECE: Final = 1 << 20
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_TRIES: Final = 3
_UNIT: Final = 512
"""Bytes of a block, as ``stat`` counts them."""
_NOT_COPIED: Final = ("-shm", ".lock")
"""What SQLite and Chroma make anew, and what is locked while they run."""


class CopyFailed(Exception):
    """There is no whole copy. ``code``: ``full``, ``changing``, ``unreadable``."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


def files_of(source: Path) -> list[Path]:
    """The files of a store, sorted: of a folder, or of one SQLite file with what belongs to it.
    Links are not followed. Raises OSError."""
    if source.is_dir():
        return sorted(_below(source))
    parts = [source, *(source.with_name(source.name + end) for end in ("-wal", "-journal"))]
    return [part for part in parts if part.exists()]


def _below(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        status = entry.lstat()
        if stat.S_ISDIR(status.st_mode):
            yield from _below(entry)
        elif stat.S_ISREG(status.st_mode) and not entry.name.endswith(_NOT_COPIED):
            yield entry


def fingerprint(source: Path) -> str:
    """Changes with names, sizes and times of a store's files. Raises OSError."""
    root = source if source.is_dir() else source.parent
    rows = []
    for path in files_of(source):
        status = path.stat()
        rows.append([path.relative_to(root).as_posix(), status.st_size, status.st_mtime_ns])
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:32]


def real_size(path: Path) -> int:
    """Bytes that a file takes on its disk: one that is mostly holes takes few."""
    status = path.stat()
    blocks = getattr(status, "st_blocks", None)  # Windows has none
    return status.st_size if blocks is None else min(status.st_size, int(blocks) * _UNIT)


def copy_store(
    source: Path,
    target: Path,
    *,
    free: Callable[[Path], int] = free_bytes,
    wait: Callable[[float], None] = time.sleep,
) -> Path:
    """A copy below ``target``, which is made: the folder's, or the file's path in it. Blocks.

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
    root = source if source.is_dir() else source.parent
    make_folder(target)
    need = sum(map(real_size, files))
    left = free(target)
    if left - need < RESERVE:
        raise CopyFailed("full", f"{need >> 20} MB needed, {left >> 20} MB free")
    for path in files:
        copy = target / path.relative_to(root)
        make_folder(copy.parent)
        copy_file(path, copy)
    return target if source.is_dir() else target / source.name


def copy_file(source: Path, target: Path) -> None:
    """Holes stay holes, where the disk knows any: zeros are passed by. Raises OSError."""
    with (
        source.open("rb", buffering=0) as reading,
        open(target, "wb", buffering=0, opener=opener) as writing,
    ):
        size = os.fstat(reading.fileno()).st_size
        for start, end in _data(reading.fileno(), size):
            reading.seek(start)
            place = start
            while place < end and (piece := reading.read(min(_PIECE, end - place))):
                if piece.count(0) < len(piece):
                    writing.seek(place)
                    write_all(writing, piece)
                place += len(piece)
        writing.truncate(size)


def _data(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """The parts of a file that hold something, where the system tells."""
    if not hasattr(os, "SEEK_DATA"):
        yield 0, size
        return
    place = 0
    while place < size:
        try:
            start = os.lseek(descriptor, place, os.SEEK_DATA)
            place = os.lseek(descriptor, start, os.SEEK_HOLE)
        except OSError:  # nothing but a hole is left
            return
        yield start, place
