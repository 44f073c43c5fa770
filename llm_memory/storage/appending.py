"""Appending to a file that people edit at the same time.

An editor saves a file by renaming another one over it, or by emptying and writing it again.
Replacing the file ourselves could drop such a save. So we only append, and then look whether what
was appended stands in the file that has this name: what can be lost is ours alone, and is appended
again.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from io import FileIO
from pathlib import Path
from typing import Final

from .directory_lock import system_locking
from .files import ChangedMeanwhile, make_folder, opener, sync_folder, write_all
from .retry import when_free

TRIES: Final = 20
_LEAST_PAUSE: Final = 0.005
_MOST_PAUSE: Final = 0.1
"""Seconds between two tries."""
_QUIET: Final = 0.02
_MOST_WAITS: Final = 10
"""A file is quiet that was not written for so many seconds. An editor that saves in place has it
empty for a moment."""
_BOM: Final = b"\xef\xbb\xbf"


class AppendFault(StrEnum):
    """Why nothing was appended, in words for who asked."""

    NOT_PLAIN = "a link or a file with a second name stands in its place"
    """Or a folder or a device."""
    NOT_TEXT = "the file is not UTF-8"
    """Our words would be unreadable in it, or spoil it."""
    BUSY = "other programs keep writing the file"
    HIDDEN = "a code block or comment is not closed in the file, line"
    """What is appended would be a part of that; ``detail`` is the line where it begins. Callers'
    ``make`` finds it."""
    DISK = "the disk refuses it:"


class NotAppended(Exception):
    """It does not stand in the file. ``code`` says why; ``detail`` is what the disk said."""

    def __init__(self, code: AppendFault, detail: str = "") -> None:
        super().__init__(f"{code} {detail}".strip())
        self.code = code
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Appended:
    """Attributes:
    content: The file, as it was read by its name afterwards.
    at: The byte of ``content`` at which the payload begins.
    written: False if it stood there before.
    """

    content: bytes
    at: int
    written: bool

    @property
    def line(self) -> int:
        """The payload's first line, counted from 1."""
        return self.content.count(b"\n", 0, self.at) + 1


def append_and_verify(
    path: Path, make: Callable[[bytes], bytes], *, start: bytes = b"", tries: int = TRIES
) -> Appended:
    """Append lines to a file, made if missing, unless they stand in it already. Blocks, up to
    seconds while others write the file.

    The file's lock is held meanwhile, where its disk knows locks: callers in other processes wait.

    Args:
        make: Gives the payload, whole lines, for what stands in the file. Called under the lock at
            each try. What it raises is passed on, and nothing is written then.
        start: What a new file begins with, whole lines.

    Raises:
        NotAppended: nothing of the file was removed or replaced.
    """
    written = False
    for number in range(tries):
        if number:
            time.sleep(min(_MOST_PAUSE, _LEAST_PAUSE * 2**number))
        try:
            payload, wrote = _append(path, make, start)
            written = written or wrote
            content = _read(path)
        except (ChangedMeanwhile, FileNotFoundError):
            continue
        except OSError as error:
            raise _disk(error) from error
        at = find_lines(content, payload)
        if at is not None:
            return Appended(content, at, written)
    raise NotAppended(AppendFault.BUSY)


def _append(path: Path, make: Callable[[bytes], bytes], start: bytes) -> tuple[bytes, bool]:
    """Returns the payload, and whether anything was written.

    Raises NotAppended, OSError, ChangedMeanwhile.
    """
    make_folder(path.parent)
    is_new = not _refuse_unplain(path)
    with when_free(lambda: FileIO(path, "a+", opener=_open_itself)) as file, _locked(file):
        _wait_until_quiet(file)
        _refuse_unplain(path, os.fstat(file.fileno()))
        file.seek(0)
        content = file.readall() or b""
        payload = make(content)
        missing = _missing(content, payload, start, is_new=is_new and not content)
        try:
            write_all(file, missing)
            os.fsync(file.fileno())
            if is_new:
                sync_folder(path.parent)
        except OSError as error:
            with contextlib.suppress(OSError):
                _take_back(file, content, missing)
            raise _disk(error) from error
    return payload, bool(missing)


def _open_itself(path: str, flags: int) -> int:
    return opener(path, flags | getattr(os, "O_NOFOLLOW", 0))


def _refuse_unplain(path: Path, opened: os.stat_result | None = None) -> bool:
    """Returns whether there is such a file. Raises NotAppended for one that may be written under
    another name, ChangedMeanwhile if it is not the one that was opened."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        if opened is not None:
            raise ChangedMeanwhile(path.name) from None
        return False
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        raise NotAppended(AppendFault.NOT_PLAIN)
    if opened is not None and not os.path.samestat(found, opened):
        raise ChangedMeanwhile(path.name)
    return True


@contextlib.contextmanager
def _locked(file: FileIO) -> Iterator[None]:
    """Raises ChangedMeanwhile where another program holds the lock."""
    locking = system_locking()
    try:
        locked = locking.lock(file.fileno())
    except OSError:  # a disk without locks: appends still do not overwrite each other
        yield
        return
    if not locked:
        raise ChangedMeanwhile
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # closing frees it, too
            locking.unlock(file.fileno())


def _wait_until_quiet(file: FileIO) -> None:
    for _ in range(_MOST_WAITS):
        # A time that lies ahead is another machine's, and says nothing.
        if not 0 <= time.time() - os.fstat(file.fileno()).st_mtime < _QUIET:
            return
        time.sleep(_QUIET)


def _missing(content: bytes, payload: bytes, start: bytes, *, is_new: bool) -> bytes:
    """The bytes to append so that the payload stands in the file, beginning a line even if the
    file's end changes until then. Raises NotAppended."""
    if find_lines(content, payload) is not None:
        return b""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise NotAppended(AppendFault.NOT_TEXT) from error
    if b"\0" in content:  # UTF-16 without its mark
        raise NotAppended(AppendFault.NOT_TEXT)
    newline = newline_of(content)
    if is_new:
        return start + newline + payload if start else payload
    return newline + payload if content.endswith(b"\n") else newline * 2 + payload


def _take_back(file: FileIO, content: bytes, written: bytes) -> None:
    """Cut off what a full disk left of ours, if nothing else stands behind it."""
    file.seek(len(content))
    if written.startswith(file.readall() or b""):
        file.truncate(len(content))


def _begins_line(content: bytes, at: int) -> bool:
    return content[:at].endswith(b"\n") or content[:at] in (b"", _BOM)


def newline_of(content: bytes) -> bytes:
    """How the first line of a file ends: ``\\r\\n`` or ``\\n``."""
    return b"\r\n" if content.partition(b"\n")[0].endswith(b"\r") else b"\n"


def find_lines(content: bytes, payload: bytes) -> int | None:
    """Returns the byte at which these lines stand in a file, whole, whatever kind of line end an
    editor has given them. None if they do not."""
    lines = payload.replace(b"\r\n", b"\n").rstrip(b"\n")
    for form in (lines, lines.replace(b"\n", b"\r\n")):
        at = content.find(form)
        while at >= 0:
            behind = content[at + len(form) : at + len(form) + 1]
            if _begins_line(content, at) and behind in b"\r\n":
                return at
            at = content.find(form, at + 1)
    return None


def _read(path: Path) -> bytes:
    with FileIO(path, "r", opener=_open_itself) as file:
        return file.readall() or b""


def _disk(error: OSError) -> NotAppended:
    return NotAppended(AppendFault.DISK, error.strerror or str(error))
