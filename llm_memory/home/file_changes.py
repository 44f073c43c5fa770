"""Changes of a person's files. All are planned first, so that nothing is written if one cannot be.

What stood in a file is copied beside it before it is changed. A link is never followed: one in a
checkout could lead out of it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Final

from ..errors import HomeError, VaultWriteFailed
from ..storage.files import ABSENT, ChangedMeanwhile, Stamp, is_link, replace_durably, stamp_of
from ..texts import at

MAX_BYTES: Final = 1024 * 1024

type Edit = Callable[[str], str]
"""Makes a file's new text of its old one, which is empty where there is no file. Raises HomeError,
without the file's name."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file, and what is to stand in it.

    Attributes:
        path: The file.
        before: Its bytes; None where there is none.
        after: What they are to be.
        stamp: What the file was when it was read.
        shown: What is put there, for a person to read: nothing of what stood in the file, which
            may hold another program's key.
    """

    path: Path
    before: bytes | None
    after: bytes
    stamp: Stamp
    shown: str

    @property
    def needed(self) -> bool:
        """True if the file is to be written at all."""
        return self.before != self.after

    @property
    def kind(self) -> str:
        """``none``, ``new`` or ``changed``."""
        return "none" if not self.needed else "new" if self.before is None else "changed"


def planned(root: Path, relative: str, edit: Edit) -> Change:
    """Read the file ``relative`` below ``root`` and plan its edit. Changes nothing. Raises
    HomeError where the way there leads through a link, it is no plain file of text, or ``edit``
    refuses it."""
    path = root.joinpath(*relative.split("/"))
    refuse_links(root, path)
    before, stamp = _read(path)
    try:
        after = edit((before or b"").decode()).encode()
    except UnicodeError as error:
        raise HomeError(at(path, "path.no_text")) from error
    except HomeError as error:
        raise HomeError(at(path, error.said)) from error
    return Change(path, before, after, stamp, edit(""))


def refuse_links(root: Path, path: Path) -> None:
    """Raises HomeError if the way from ``root`` to ``path`` leads through a link."""
    for step in (path, *path.parents):
        if step == root:
            break
        if is_link(step):
            raise HomeError(at(step, "path.link"))


def apply(change: Change, now: datetime) -> Path | None:
    """Write a change. Returns the copy of what stood there; None where nothing did. Raises
    HomeError: the file is as it was."""
    try:
        copy = _copied(change.path, change.before, now) if change.before and change.needed else None
        change.path.parent.mkdir(parents=True, exist_ok=True)
        replace_durably(change.path, change.after, change.stamp)
    except ChangedMeanwhile as error:
        raise HomeError(at(change.path, "rewrite.changed")) from error
    except (VaultWriteFailed, OSError) as error:
        raise HomeError(at(change.path, "path.unwritable", why=error)) from error
    return copy


def _copied(path: Path, before: bytes, now: datetime) -> Path:
    """Raises OSError."""
    name = f"{path.name}.bak-{now:%Y%m%d-%H%M%S}"
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    copy = next(path.with_name(name) for name in names if not os.path.lexists(path.with_name(name)))
    # It may hold another server's key: no one may read the copy who may not read the file.
    mode = stat.S_IMODE(path.stat().st_mode) & 0o666
    descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with open(descriptor, "wb") as file:  # noqa: PTH123  (of a descriptor)
        file.write(before)
        file.flush()
        os.fsync(file.fileno())
    return copy


def _read(path: Path) -> tuple[bytes | None, Stamp]:
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise HomeError(at(path, "path.no_file"))
        if status.st_size > MAX_BYTES:
            raise HomeError(at(path, "path.too_large"))
        return path.read_bytes(), stamp_of(status)
    except FileNotFoundError:
        return None, ABSENT
    except OSError as error:
        raise HomeError(at(path, "path.unreadable", why=error.strerror)) from error
