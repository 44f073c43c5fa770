"""Decides whether an index folder is opened or set aside: it is a cache, and not worth a diagnosis.

Chroma breaks: after a kill -9 or a full disk a folder may be partial, or end every process that
opens it. So the process that holds the index is the probe. It counts an opening in a record beside
the folder before it begins, and strikes it out when it has ended: a folder in whose opening the
process died three times is set aside unopened. What opens is asked a few questions first
(``folder_check.py``), and set aside if it answers wrongly. Nothing is set aside more than three
times within an hour.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from ...errors import IndexFull, IndexUnavailable, VaultWriteFailed
from ...log import logger
from ...storage.disk_space import DiskSpace
from ...storage.files import replace_durably
from .connection import worn_out
from .folder_check import DATABASE, PARTIAL, look_into_database, look_into_segment
from .quarantine import segments, set_aside, sweep

OPENINGS: Final = "openings"
"""The reason of a folder that was set aside because the process died while it opened it."""
WORN: Final = "worn"

_FORMAT: Final = 1
_DEATHS: Final = 3
"""So many openings in a row without an end are enough. A system that ends everything at once may
meet an opening now and then."""
_MOST: Final = 3
_WHILE: Final = 3600.0
"""Seconds. What was set aside so many times within them is broken by something else."""
_WRITTEN_FOR_EACH_BYTE: Final = 8
"""Vectors go into a queue, a journal and a graph, with metadata of their own."""
_SMALLEST_WRITE: Final = 1 << 20
_OPENING_BYTES: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class FolderRecord:
    """What is known of an index folder.

    Attributes:
        openings: Openings in a row that came to no end: the process died in them.
        removed: Records deleted since the folder was begun.
        set_aside: When, in seconds since 1970, earlier folders were set aside.
    """

    openings: int = 0
    removed: int = 0
    set_aside: tuple[float, ...] = ()


class FolderGuard:
    """Of one folder, whose lock is held during every call. One thread at a time."""

    def __init__(
        self,
        folder: Path,
        *,
        space: DiskSpace | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """The record lies beside the folder; ``clock`` gives seconds since 1970."""
        self._folder = folder
        self._space = space or DiskSpace(folder)
        self._clock = clock
        self._path = folder.with_name(f"{folder.name}.health.json")
        self._record = FolderRecord()
        self._reason = ""

    def admit(self) -> None:
        """Called before Chroma opens the folder: it may, if this returns, and is counted.

        Raises:
            IndexUnavailable: ``garbage``, ``partial`` or ``openings``, the folder is of no use;
                with another code it may not be opened now.
        """
        self._record = _read(self._path)
        try:
            self._check()
        except OSError as error:
            message = f"{error.filename}: {error.strerror}"
            raise IndexUnavailable(message, code="unreadable") from error
        if not self._space.has(_OPENING_BYTES, reserve=0):
            raise IndexFull("too little disk space to open the index")
        self._note(replace(self._record, openings=self._record.openings + 1))

    def _check(self) -> None:
        found = segments(self._folder)
        if not has_database(self._folder):
            if found and not self._reason:  # what could not be deleted a moment ago does no harm
                raise IndexUnavailable("the database is gone", code=PARTIAL)
            return
        if self._record.openings >= _DEATHS:
            raise IndexUnavailable("the process died while it opened it", code="openings")
        known = look_into_database(self._folder)
        if gone := sweep(path for path in found if path.name not in known):
            logger.info("index_folders_removed", count=gone)
        for path in found:
            if path.name in known:
                look_into_segment(path)

    def opened(self) -> str:
        """The opening has come to an end. Returns why an earlier index was set aside before it;
        empty if none was."""
        reason, self._reason = self._reason, ""
        self.ended()
        return reason

    def ended(self) -> None:
        """The opening has ended, with an error perhaps, and the process lives."""
        self._note(replace(self._record, openings=0))

    def abandoned(self) -> None:
        """The opening under way is given up: what ends it now is not the folder."""
        if self._record.openings:
            self._note(replace(self._record, openings=self._record.openings - 1))

    def writing(self, size: int) -> None:
        """About ``size`` bytes are going to be written. Raises IndexFull."""
        self._space.take(size * _WRITTEN_FOR_EACH_BYTE + _SMALLEST_WRITE)

    def removed(self, count: int) -> None:
        """Records were deleted. Noted when it is asked whether that is too many, and at the end."""
        self._record = replace(self._record, removed=self._record.removed + count)

    def worn(self, living: int) -> bool:
        """More was deleted than lives, and it is worth mending."""
        self._note(self._record)
        return worn_out(self._record.removed, living)

    def closed(self) -> None:
        """Chroma has closed the folder."""
        self._note(self._record)

    def discard(self, reason: str, detail: str = "given up") -> None:
        """Empty the folder; ``opened`` will say the reason.

        Raises:
            IndexUnavailable: ``faulty``, that was done too often; ``stuck``, it cannot be done.
        """
        now = self._clock()
        earlier = tuple(at for at in _read(self._path).set_aside if 0 <= now - at < _WHILE)
        if reason != WORN:
            if len(earlier) >= _MOST:
                raise IndexUnavailable(
                    f"set aside too often; now {reason}: {detail}", code="faulty"
                )
            earlier = (*earlier, now)
        logger.warning("vectors_set_aside", reason=reason, detail=detail)
        set_aside(self._folder, keep=reason != WORN, room=self._space.has)
        self._reason = reason
        self._note(FolderRecord(set_aside=earlier))

    def clear(self) -> None:
        """Empty the folder for good, and delete what was set aside. Raises IndexUnavailable."""
        set_aside(self._folder, keep=False, room=lambda _: False)
        self._note(FolderRecord())

    def _note(self, record: FolderRecord) -> None:
        """Keep it; what cannot be written had better not be there than be wrong."""
        self._record = record
        if record == _read(self._path):
            return
        content = {"format": _FORMAT, **asdict(record)}
        try:
            replace_durably(self._path, json.dumps(content).encode())
        except VaultWriteFailed:
            sweep([self._path])


def has_database(folder: Path) -> bool:
    """There is a database, sound or not. Raises OSError."""
    try:
        return (folder / DATABASE).stat().st_size > 0
    except FileNotFoundError:
        return False


def _read(path: Path) -> FolderRecord:
    """The record; a blank one if there is none that makes sense.

    What an earlier version noted beside it, how the files looked, is passed over.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        known = content["format"] == _FORMAT
        openings, removed = content["openings"], content["removed"]
        times = tuple(float(at) for at in content.get("set_aside", ()))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return FolderRecord()
    counts = all(type(number) is int and number >= 0 for number in (openings, removed))
    return FolderRecord(openings, removed, times) if known and counts else FolderRecord()
