"""Writing files so that a crash or a full disk leaves the old one or the new one, never a half."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Final

from ..errors import VaultWriteFailed

IS_WINDOWS = os.name == "nt"
"""Tests set it: only then is anything tried again."""

PAUSES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.3)
"""Seconds between two tries, about one in all."""


def when_free[R](step: Callable[[], R]) -> R:
    """What ``step`` gives. Windows refuses to replace, remove or open a file that another program
    has open; a virus scanner, a backup or a program that keeps folders in step lets go of it after
    some milliseconds. So there the step is tried again for a second; elsewhere the same error means
    missing rights. Blocks. Raises OSError: whatever ``step`` raised last."""
    for pause in PAUSES if IS_WINDOWS else ():
        try:
            return step()
        except PermissionError:
            time.sleep(pause)
    return step()


RESERVE: Final = 64 << 20
"""Bytes that stay free: the vault, AstrBot and the system want to write, too."""


def free_bytes(path: Path) -> int:
    """Bytes that we may still write on the disk of ``path``. Raises OSError."""
    return shutil.disk_usage(path).free


def append_durably(path: Path, payload: bytes) -> None:
    """Append and fsync. The file's other names (hard links) keep what they had: they may lie where
    nothing of ours is to be written.

    Raises:
        VaultWriteFailed: nothing was written.
    """
    made = False
    try:
        made = not path.exists()
        if made:
            make_folder(path.parent)
        elif (found := path.lstat()).st_nlink > 1:
            replace_durably(path, when_free(path.read_bytes), stamp_of(found))
        with when_free(lambda: FileIO(path, "a+", opener=opener)) as file:
            append_synced(file, payload, new_in=path.parent if made else None)
    except (OSError, ChangedMeanwhile) as error:
        if made:
            remove_empty(path)
        raise _not_written(path, error) from error


def remove_empty(path: Path) -> None:
    """Remove a file that we have made, and closed, for nothing. Another program may have written to
    it by now: then it stays. Never raises."""
    with contextlib.suppress(OSError):
        if not path.stat().st_size:
            when_free(path.unlink)


def append_synced(file: FileIO, payload: bytes, *, new_in: Path | None = None) -> None:
    """Write behind what stands in an open file, and make it durable, in ``new_in`` its name, too.

    Raises OSError: what the disk took of it is cut off, where nothing but that stands behind what
    stood there; else a person has saved the file meanwhile, and its end is not ours.
    """
    before = file.seek(0, os.SEEK_END)
    try:
        write_all(file, payload)
        os.fsync(file.fileno())
        if new_in is not None:
            sync_folder(new_in)
    except OSError:
        with contextlib.suppress(OSError):  # the first error is the one to report
            file.seek(before)
            left = file.readall()
            if left and payload.startswith(left):
                file.truncate(before)
        raise


PRIVATE: Final = 0o700
"""The mode of a folder that the bot's user alone may look into."""
OTHERS: Final = 0o077
"""The bits of everybody else."""


def opener(path: str, flags: int) -> int:
    """For ``open``: a new file is as private as its folder. Raises OSError."""
    return os.open(path, flags, mode_in(Path(path).parent) & 0o666)


def make_file(path: Path) -> None:
    """Make an empty file of that kind, if there is none. Raises OSError."""
    os.close(opener(str(path), os.O_RDWR | os.O_CREAT))


type KeptOpen = dict[tuple[int, int], BinaryIO]
"""Handles of databases, by device and number on the disk."""


def keep_open(path: Path, kept: KeptOpen) -> BinaryIO:
    """A handle at the beginning of a file, out of ``kept`` or put into it. Closing any handle of a
    file gives up the locks that this process has on it, those of an open database, too. Raises
    OSError."""
    number = (status := path.stat()).st_dev, status.st_ino
    if number not in kept:
        kept[number] = path.open("rb")
    kept[number].seek(0)
    return kept[number]


def mode_in(folder: Path) -> int:
    """Permission bits for what is made in a folder: who may not look into the folder may not
    read it. An owner who opens the folder to others opens it for new files, too. Raises OSError."""
    if os.name == "nt":  # where folders hand on their rights themselves
        return 0o777
    return PRIVATE | stat.S_IMODE(folder.stat().st_mode) & 0o777


def write_all(file: FileIO, payload: bytes) -> None:
    """An unbuffered write may take a part only. Raises OSError."""
    rest = memoryview(payload)
    while rest:
        rest = rest[file.write(rest) :]


def _not_written(path: Path, error: Exception) -> VaultWriteFailed:
    return VaultWriteFailed(f"{path.name}: {getattr(error, 'strerror', None) or error}")


type Stamp = tuple[int, int, int]
"""When a file was written, its size and its number on the disk: another file has another one."""

ABSENT: Final[Stamp] = (0, 0, 0)
"""The stamp of no file."""


class ChangedMeanwhile(Exception):
    """Another program wrote to a file after we had read it."""


def stamp_of(status: os.stat_result) -> Stamp:
    """What tells a file from what it was."""
    return status.st_mtime_ns, status.st_size, status.st_ino


_TEMPORARY: Final = re.compile(r"\.[0-9a-f]{16}[a-z0-9_]{0,8}\.tmp", re.ASCII)


def is_link(path: Path) -> bool:
    """True for links and for junctions, Windows' links between folders."""
    with contextlib.suppress(OSError):  # else a write through it fails, too
        return path.is_symlink() or path.is_junction()
    return False


def temporary_beside(path: Path) -> Path:
    """Returns a new name for what is to replace ``path``. It is not made of the file's name: one as
    long as the disk allows could not be made longer."""
    return path.with_name(f".{secrets.token_hex(8)}.tmp")


def is_temporary(name: str) -> bool:
    """True for the name of a file that ``replace_durably`` writes, and of a ``scratch_folder``."""
    return _TEMPORARY.fullmatch(name) is not None


def scratch_folder(folder: Path) -> TemporaryDirectory[str]:
    """A folder in ``folder``, for copies that no other user may read and that go with it. Not in
    the system's: that may lie on another disk, in memory, or in a backup of its own.

    Raises OSError.
    """
    prefix = f".{secrets.token_hex(8)}"
    return TemporaryDirectory(dir=folder, prefix=prefix, suffix=".tmp", ignore_cleanup_errors=True)


def replace_durably(path: Path, payload: bytes, stamp: Stamp | None = None) -> None:
    """Write a neighbour file with the mode of ``path``, fsync it and move it over ``path``.

    With a ``stamp``, only if ``path`` still is the file that had it, or there still is none.

    Raises:
        VaultWriteFailed: ``path`` is as it was.
        ChangedMeanwhile: the same.
    """
    temporary = temporary_beside(path)
    try:
        make_folder(path.parent)
        with FileIO(temporary, "x", opener=opener) as file:
            write_all(file, payload)
            os.fsync(file.fileno())
        if path.exists():
            temporary.chmod(path.stat().st_mode & 0o777)
        if stamp not in (None, stamp_at(path)):
            raise ChangedMeanwhile(path.name)
        move(temporary, path)
    except OSError as error:
        raise _not_written(path, error) from error
    finally:
        drop_beside(temporary)


def stamp_at(path: Path) -> Stamp:
    """Raises OSError."""
    try:
        return stamp_of(path.lstat())
    except FileNotFoundError:
        return ABSENT


def drop_beside(temporary: Path) -> None:
    """Remove what takes no file's place. Never raises."""
    with contextlib.suppress(OSError):
        when_free(temporary.unlink)


def move(source: Path, target: Path) -> None:
    """Move a file or folder to another name on the same disk, in place of what stands there.

    Raises OSError: both are as they were, unless the disk cannot make names durable.
    """
    when_free(lambda: source.replace(target))
    sync_folder(target.parent)


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, each durable in its parent and as private as that one.

    Raises OSError.
    """
    if folder.exists():
        return
    if folder == folder.parent:  # a drive that was taken out
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True, mode=mode_in(folder.parent))
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make a new or renamed name in ``folder`` durable. Windows and some network disks cannot."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
