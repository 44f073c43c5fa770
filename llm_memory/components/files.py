"""Writing files so that a crash or a full disk leaves the old one or the new one, never a half."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from io import FileIO
from pathlib import Path
from typing import Final

from ..errors import VaultWriteFailed
from .patience import when_free


def append_durably(path: Path, payload: bytes) -> None:
    """Append and fsync; on any failure the file is cut back to what it was.

    Raises:
        VaultWriteFailed: nothing was written.
    """
    made = False
    try:
        fresh = not path.exists()
        if fresh:
            make_folder(path.parent)
        # Unbuffered: what a buffer still held would be written when the file is closed, behind the
        # cut.
        with when_free(lambda: path.open("ab", buffering=0)) as file:
            before = file.seek(0, os.SEEK_END)
            made = fresh and before == 0
            try:
                _write_all(file, payload)
                os.fsync(file.fileno())
                if fresh:
                    sync_folder(path.parent)
            except OSError:
                # The first error is the one to report; a half-written tail that cannot be cut is
                # repaired by the next reading, which takes any text as it stands.
                with contextlib.suppress(OSError):
                    file.truncate(before)
                raise
    except OSError as error:
        if made:
            with contextlib.suppress(OSError):  # closed by now: Windows removes no open file
                when_free(path.unlink)
        raise VaultWriteFailed(_told(path, error)) from error


def _write_all(file: FileIO, payload: bytes) -> None:
    rest = memoryview(payload)
    while rest:
        rest = rest[file.write(rest) :]


def _told(path: Path, error: OSError) -> str:
    return f"{path.name}: {error.strerror or error}"


type Stamp = tuple[int, int, int]
"""When a file was written, its size and its number on the disk: another file has another one."""

ABSENT: Final[Stamp] = (0, 0, 0)
"""The stamp of no file."""


class ChangedMeanwhile(Exception):
    """Somebody wrote to a file after we had read it."""


def stamp_of(status: os.stat_result) -> Stamp:
    """What tells a file from what it was."""
    return status.st_mtime_ns, status.st_size, status.st_ino


def replace_durably(path: Path, payload: bytes, stamp: Stamp | None = None) -> None:
    """Write a neighbour file, fsync it and move it over ``path``.

    With a ``stamp``, only if ``path`` still is the file that had it, or there still is none.

    Raises:
        VaultWriteFailed: ``path`` is as it was.
        ChangedMeanwhile: the same.
    """
    # Not named after the file: a name that is as long as the disk allows could not be made longer.
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        make_folder(path.parent)
        with temporary.open("wb", buffering=0) as file:
            _write_all(file, payload)
            os.fsync(file.fileno())
        if path.exists():
            temporary.chmod(path.stat().st_mode & 0o777)
        if stamp is not None:
            _refuse_another(path, stamp)
        move(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            when_free(temporary.unlink)
        raise VaultWriteFailed(_told(path, error)) from error
    except ChangedMeanwhile:
        with contextlib.suppress(OSError):
            when_free(temporary.unlink)
        raise


def _refuse_another(path: Path, stamp: Stamp) -> None:
    try:
        found = stamp_of(path.lstat())
    except FileNotFoundError:
        found = ABSENT
    if found != stamp:
        raise ChangedMeanwhile(path.name)


def move(source: Path, target: Path) -> None:
    """Move a file or folder to another name on the same disk, in place of what stands there.

    Raises OSError: both are as they were, unless the disk cannot make names durable.
    """
    when_free(lambda: source.replace(target))
    sync_folder(target.parent)


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, each one durable in its own parent. Raises OSError."""
    missing = []
    while not folder.exists():
        if folder == folder.parent:  # a drive that was taken out
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
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
