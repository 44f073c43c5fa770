"""Putting a broken index out of the way: kept once, for its owner to look at, never in the way.

The contents are moved, not the folder: the owner's lock lies in it and stays held meanwhile, and
Windows moves no folder in which a file is open.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ...errors import IndexUnavailable
from ...log import logger
from ...storage.directory_lock import LOCK_NAME
from ...storage.files import make_folder, move
from ...storage.retry import when_free

STUCK: Final = "stuck"
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_STAMP: Final = re.compile(r"\d{8}T\d{6}Z(-\d+)?", re.ASCII)


def utc_now() -> datetime:
    """Now, in universal time."""
    return datetime.now(UTC)


def contents(folder: Path) -> list[Path]:
    """What lies in an index folder besides the owner's lock. Raises OSError."""
    try:
        return sorted(path for path in folder.iterdir() if path.name != LOCK_NAME)
    except FileNotFoundError:
        return []


def segments(folder: Path) -> list[Path]:
    """The folders of single segments. Raises OSError."""
    return [path for path in contents(folder) if is_segment(path)]


def is_segment(path: Path) -> bool:
    """A folder with a uuid for a name, as Chroma makes one for each collection; no link."""
    return _UUID.fullmatch(path.name) is not None and path.is_dir() and not path.is_symlink()


def set_aside(
    folder: Path,
    *,
    keep: bool,
    room: Callable[[int], bool],
    now: Callable[[], datetime] = utc_now,
) -> None:
    """Empty an index folder, whose lock is held.

    What was in it is kept in a neighbour, ``<name>.broken-<time>``, in place of earlier ones; or
    deleted, if not ``keep`` or if there is no ``room`` for as many bytes again.

    Raises:
        IndexUnavailable: ``stuck``, what an index would stumble over is still there.
    """
    try:
        found = contents(folder)
    except OSError as error:
        raise IndexUnavailable(f"{folder.name}: {error.strerror}", code=STUCK) from error
    earlier = _kept(folder)
    enough = room(_size(found))
    if found and keep and enough:
        target = _new_name(folder, now())
        found = [path for path in found if not _moved(path, target)]
    elif enough:
        earlier = []
    sweep([*found, *earlier])
    left = [path.name for path in found if os.path.lexists(path) and not is_segment(path)]
    if left:  # a folder of segments that no database knows does no harm
        raise IndexUnavailable(f"cannot be moved or deleted: {left[0]}", code=STUCK)


def sweep(paths: Iterable[Path]) -> int:
    """Delete files and folders, as far as the system lets us. How many are gone."""
    gone = 0
    for path in paths:
        try:
            if path.is_dir() and not path.is_symlink():
                when_free(lambda path=path: shutil.rmtree(path))  # type: ignore[misc]
            else:
                when_free(path.unlink)
        except OSError as error:
            logger.debug("{} cannot be deleted: {}", path.name, error)
        else:
            gone += 1
    return gone


def _moved(path: Path, target: Path) -> bool:
    try:
        make_folder(target)
        move(path, target / path.name)
    except OSError as error:
        logger.debug("{} cannot be moved: {}", path.name, error)
        return False
    return True


def _kept(folder: Path) -> list[Path]:
    prefix = f"{folder.name}.broken-"
    try:
        neighbours = list(folder.parent.iterdir())
    except OSError:
        return []
    return [
        path
        for path in neighbours
        if path.name.startswith(prefix) and _STAMP.fullmatch(path.name.removeprefix(prefix))
    ]


def _new_name(folder: Path, now: datetime) -> Path:
    stamp = f"{folder.name}.broken-{now:%Y%m%dT%H%M%SZ}"
    target, number = folder.with_name(stamp), 1
    while os.path.lexists(target):
        number += 1
        target = folder.with_name(f"{stamp}-{number}")
    return target


def _size(paths: Iterable[Path]) -> int:
    """Bytes that they take; sparse files take less than they are long."""
    total = 0
    for top in paths:
        for path in (top, *top.rglob("*")) if top.is_dir() else (top,):
            try:
                about = path.lstat()
            except OSError:
                continue
            total += about.st_size if sys.platform == "win32" else about.st_blocks * 512
    return total
