"""Appending to a file that people edit at the same time.

An editor saves a file by renaming another one over it, or by emptying and writing it again.
Replacing the file ourselves could drop such a save. So we only append, and then look whether what
was appended stands in the file that has this name: what can be lost is ours alone, and is appended
again.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable
from enum import StrEnum
from io import FileIO
from pathlib import Path
from typing import Final

from .files import ChangedMeanwhile, append_synced, make_folder, opener, remove_empty, when_free

_TRIES: Final = 20
_PAUSE: Final = 0.05
"""Seconds between two tries."""
_QUIET: Final = 0.02
"""A file that was written so many seconds ago an editor may still be writing, from its beginning:
what was appended meanwhile would be gone after we had seen it there."""
_EMPTY: Final = 5.0
"""The same of an empty file: an editor empties it and may take its time to write it again. So we
rather refuse."""
_BOM: Final = b"\xef\xbb\xbf"
_appending: Final = threading.Lock()
"""A store has one owner: whoever else appends to its files is a thread of ours."""


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


def append_and_verify(path: Path, make: Callable[[bytes], bytes], *, start: bytes = b"") -> int:
    """Append lines to a file, made if missing, unless they stand in it already. Returns the line at
    which they stand, counted from 1. Blocks, up to a second while others write the file.

    Args:
        make: Gives the payload, whole lines, for what stands in the file. Called at each try. What
            it raises is passed on, and nothing is written then.
        start: What a new file begins with, whole lines.

    Raises:
        NotAppended: nothing of the file was removed or replaced.
    """
    with _appending:
        for number in range(_TRIES):
            time.sleep(_PAUSE if number else 0)
            made = not path.exists()
            try:
                payload = _append(path, make, start)
                with _opened(path, "r") as file:
                    content = file.readall()
            except (ChangedMeanwhile, FileNotFoundError):
                continue
            except OSError as error:
                if made:  # the next append would take it for one that an editor is about to write
                    remove_empty(path)
                raise NotAppended(AppendFault.DISK, error.strerror or str(error)) from error
            at = find_lines(content, payload)
            if at is not None:
                return content.count(b"\n", 0, at) + 1
    raise NotAppended(AppendFault.BUSY)


def _append(path: Path, make: Callable[[bytes], bytes], start: bytes) -> bytes:
    """Returns the payload. Raises NotAppended, OSError, ChangedMeanwhile."""
    make_folder(path.parent)
    is_new = not _refuse_unplain(path)
    if is_new and _is_fresh(path.parent.stat(), _QUIET):  # moved away by an editor just now
        raise ChangedMeanwhile(path.name)
    with _opened(path, "a+") as file:
        file.seek(0)
        content = file.readall()
        is_begun = is_new and not content
        if not is_begun and _is_fresh(os.fstat(file.fileno()), _QUIET if content else _EMPTY):
            raise ChangedMeanwhile(path.name)
        payload = make(content)
        if find_lines(content, payload) is None:
            before = _between(content, start, is_new=is_begun)
            append_synced(file, before + payload, new_in=path.parent if is_new else None)
    return payload


def _is_fresh(status: os.stat_result, seconds: float) -> bool:
    """True if it was written so short a time ago. A time that is still to come says nothing."""
    return 0 <= time.time() - status.st_mtime < seconds


def _opened(path: Path, mode: str) -> FileIO:
    """The file itself, and not what a link leads to. Raises OSError."""

    def itself(name: str, flags: int) -> int:
        return opener(name, flags | getattr(os, "O_NOFOLLOW", 0))

    return when_free(lambda: FileIO(path, mode, opener=itself))


def _refuse_unplain(path: Path) -> bool:
    """Returns whether there is such a file. Raises NotAppended for one that may be written under
    another name."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        raise NotAppended(AppendFault.NOT_PLAIN)
    return True


def _between(content: bytes, start: bytes, *, is_new: bool) -> bytes:
    """What stands between a file's end and the payload, so that it begins a line even if the end
    changes until then. Raises NotAppended."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise NotAppended(AppendFault.NOT_TEXT) from error
    if "\0" in text:  # UTF-16 without its mark
        raise NotAppended(AppendFault.NOT_TEXT)
    newline = newline_of(content)
    if is_new:
        return start + newline if start else b""
    return newline if content.endswith(b"\n") else newline * 2


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
            begins = content[:at].endswith(b"\n") or content[:at] in (b"", _BOM)
            if begins and content[at + len(form) : at + len(form) + 1] in b"\r\n":
                return at
            at = content.find(form, at + 1)
    return None
