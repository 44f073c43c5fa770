"""Writing files so that a crash or a full disk leaves the old one or the new one, never a half."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from io import FileIO
from pathlib import Path

from ..errors import VaultWriteFailed


def append_durably(path: Path, payload: bytes) -> None:
    """Append and fsync; on any failure the file is cut back to what it was.

    Raises:
        VaultWriteFailed: nothing was written.
    """
    try:
        fresh = not path.exists()
        if fresh:
            make_folder(path.parent)
        # Unbuffered: what a buffer still held would be written when the file is closed, behind the
        # cut.
        with path.open("ab", buffering=0) as file:
            before = file.seek(0, os.SEEK_END)
            try:
                _write_all(file, payload)
                os.fsync(file.fileno())
                if fresh:
                    sync_folder(path.parent)
            except OSError:
                _cut_back(path, before, fresh=fresh)
                raise
    except OSError as error:
        raise VaultWriteFailed(f"{path.name}: {error.strerror or error}") from error


def _write_all(file: FileIO, payload: bytes) -> None:
    rest = memoryview(payload)
    while rest:
        rest = rest[file.write(rest) :]


def _cut_back(path: Path, size: int, *, fresh: bool) -> None:
    # The first error is the one to report; a half-written tail that cannot be cut is repaired by
    # the next reading, which takes any text as it stands.
    with contextlib.suppress(OSError):
        if fresh:
            path.unlink()
        else:
            os.truncate(path, size)


def replace_durably(path: Path, payload: bytes) -> None:
    """Write a neighbour file, fsync it and move it over ``path``.

    Raises:
        VaultWriteFailed: ``path`` is as it was.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        make_folder(path.parent)
        with temporary.open("wb", buffering=0) as file:
            _write_all(file, payload)
            os.fsync(file.fileno())
        if path.exists():
            temporary.chmod(path.stat().st_mode & 0o777)
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise VaultWriteFailed(f"{path.name}: {error.strerror or error}") from error


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, each one durable in its own parent."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        sync_folder(path.parent)


_NO_SUCH_CALL = (errno.EINVAL, errno.ENOTSUP)


def sync_folder(folder: Path) -> None:
    """Make a new or renamed name in ``folder`` durable. Windows and some network disks cannot."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SUCH_CALL:
            raise
    finally:
        os.close(descriptor)
