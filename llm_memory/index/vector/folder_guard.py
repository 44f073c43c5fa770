"""Decides whether an index folder may be opened, and remembers what is known of it.

Chroma breaks: after a kill -9 or a full disk a folder may be partial, or kill every process that
opens it. So a folder is opened without a question only if its files look as they did when it was
known to be sound; else a child process looks into it first. A folder that is broken, or in whose
opening the process died three times in a row, is set aside: it is a cache.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from ...errors import IndexFull, IndexUnavailable
from ...log import logger
from ...storage.disk_space import DiskSpace
from .connection import worn_out
from .health import Health, HealthFile, seal_of
from .probe_process import Finding, ProbeProcess, Verdict
from .quarantine import is_segment, segments, set_aside, sweep

OPENINGS: Final = "openings"
"""The reason of a folder that was set aside because the process died while it opened it."""
WORN: Final = "worn"
DATABASE: Final = "chroma.sqlite3"

_DEATHS: Final = 3
"""So many openings in a row without an end are enough. A system that ends everything at once may
meet an opening now and then."""
_UNCLOSED: Final = 2
"""So many sessions in a row without a close, and the seal is not believed any more: something that
the seal does not see may be ending them."""
_WRITTEN_FOR_EACH_BYTE: Final = 8
"""Vectors go into a queue, a journal and a graph, with metadata of their own."""
_SMALLEST_WRITE: Final = 1 << 20
_OPENING_BYTES: Final = 4 << 20
_BUSY_SECONDS: Final = 1.0
_REFUSALS: Final = {
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
    sqlite3.SQLITE_READONLY: "unreadable",
    sqlite3.SQLITE_PERM: "unreadable",
    sqlite3.SQLITE_AUTH: "unreadable",
    sqlite3.SQLITE_CANTOPEN: "unreadable",
}


class FolderGuard:
    """Of one folder, whose lock is held during every call. One thread at a time."""

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, object],
        *,
        prober: ProbeProcess | None = None,
        space: DiskSpace | None = None,
    ) -> None:
        """``settings`` are those that Chroma opens it with. The record lies beside the folder."""
        self._folder = folder
        self._settings = settings
        self._prober = prober or ProbeProcess()
        self._space = space or DiskSpace(folder)
        self._file = HealthFile(folder.with_name(f"{folder.name}.health.json"))
        self._health = self._written = Health()
        self._untidy = False
        self._segments: frozenset[str] = frozenset()
        self._doubted = False
        self._reason = ""

    def admit(self, version: str) -> None:
        """Called before Chroma, of that version, opens the folder: it may, if this returns.

        Raises:
            IndexUnavailable: it may not now; the code says why.
        """
        self._health = self._written = self._file.read()
        try:
            self._check(version)
        except OSError as error:
            raise _unreadable(error) from error
        if not self._space.has(_OPENING_BYTES, reserve=0):
            raise IndexFull("too little disk space to open the index")
        health = self._health.unsealed()
        self._note(replace(health, openings=health.openings + 1, unclosed=health.unclosed + 1))

    def _check(self, version: str) -> None:
        if not has_database(self._folder):
            self._health = Health()
            if segments(self._folder):
                self._set_aside(Verdict.PARTIAL.value, "the database is gone")
            return
        self._raise_if_busy()
        if self._health.openings >= _DEATHS:
            self._set_aside(OPENINGS, "the process died while it opened it")
        elif not self._sealed(version):
            self._judge(self._look())

    def _sealed(self, version: str) -> bool:
        health = self._health
        return (
            health.seal is not None
            and health.version == version
            and not health.openings
            and health.unclosed < _UNCLOSED
            and health.seal == seal_of(self._folder)
        )

    def _look(self) -> Finding:
        size = sum(size for size, _ in seal_of(self._folder).values())
        finding = self._prober.look(self._folder, self._settings, size)
        if finding.verdict is Verdict.HANGS:
            self._raise_if_busy()  # another program may have opened it meanwhile
        return finding

    def _judge(self, finding: Finding) -> None:
        verdict = finding.verdict
        if verdict is Verdict.SOUND:
            self._health = replace(self._health, unclosed=0)  # openings: it has to be opened, too
            self._sweep(finding.orphans)
        elif verdict is Verdict.FULL:
            raise IndexFull(finding.detail)
        elif verdict.broken:
            self._set_aside(verdict.value, finding.detail)
        elif verdict is not Verdict.UNKNOWN:
            raise IndexUnavailable(f"{verdict}: {finding.detail}", code=verdict.value)

    def _sweep(self, orphans: tuple[str, ...]) -> None:
        paths = [self._folder / name for name in orphans]
        if gone := sweep(path for path in paths if is_segment(path)):
            logger.info("清理了 {} 个没有用的索引文件夹", gone)

    def _raise_if_busy(self) -> None:
        """Ask SQLite, while Chroma does not have the file: Chroma would wait for its lock for
        minutes, in a thread that cannot be ended."""
        try:
            with closing(
                sqlite3.connect(
                    self._folder / DATABASE, timeout=_BUSY_SECONDS, isolation_level=None
                )
            ) as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            code = error.sqlite_errorcode & 0xFF
            if code == sqlite3.SQLITE_FULL:
                raise IndexFull(f"{DATABASE}: {error}") from error
            if code in _REFUSALS:
                raise IndexUnavailable(f"{DATABASE}: {error}", code=_REFUSALS[code]) from error
            # It is no database: the files do not look as they did, and the probe will say so.
            self._health = self._health.unsealed()

    def opened(self, collections: int) -> str:
        """The opening has come to an end, and so many collections are there.

        Why an earlier index was set aside before it; empty if none was.
        """
        self._doubted = False
        self._segments = frozenset()
        self._look_around(collections)
        reason, self._reason = self._reason, ""
        self._note(replace(self._health, openings=0))
        return reason

    def abandoned(self) -> None:
        """The opening under way is given up: what ends it now is not the folder."""
        if self._health.openings:
            self._note(replace(self._health, openings=self._health.openings - 1))

    def failed(self) -> None:
        """The opening has ended with an error, and the process lives."""
        self._note(replace(self._health.unsealed(), openings=0))

    def writing(self, size: int) -> None:
        """About ``size`` bytes are going to be written. Raises IndexFull."""
        self._space.take(size * _WRITTEN_FOR_EACH_BYTE + _SMALLEST_WRITE)
        if self._health.seal is not None:
            self._note(self._health.unsealed())

    def removed(self, count: int) -> None:
        """Records were deleted. Noted with the next seal."""
        self._health = replace(self._health, removed=self._health.removed + count)

    def worn(self, living: int) -> bool:
        """More was deleted than lives, and it is worth mending."""
        return worn_out(self._health.removed, living)

    def settled(self, version: str, collections: int) -> None:
        """Nothing is being written, by a Chroma of that version with so many collections."""
        self._look_around(collections)
        self._note(self._sealed_now(version))

    def closed(self, version: str) -> None:
        """Chroma has closed the folder, in order."""
        with suppress(OSError):
            self._doubted = self._doubted or not self._segments <= self._present()
        self._note(replace(self._sealed_now(version), unclosed=0))

    def _look_around(self, collections: int) -> None:
        """More segments than collections: the rest are of collections that were dropped. Fewer
        segments than before: they were taken out, and Chroma has not noticed."""
        with suppress(OSError):
            present = self._present()
            self._doubted = self._doubted or not self._segments <= present
            self._segments = present
            self._untidy = len(present) > collections

    def _present(self) -> frozenset[str]:
        return frozenset(path.name for path in segments(self._folder))

    def _sealed_now(self, version: str) -> Health:
        """What lies there is believed to be sound, unless there was a fault.

        With orphans among the segments there is no seal: the next probe of the folder sweeps
        them.
        """
        try:
            if self._doubted or self._untidy:
                return self._health.unsealed()
            return replace(self._health, seal=seal_of(self._folder), version=version)
        except OSError as error:
            logger.debug("无法给向量索引封存：{}", error)
            return self._health.unsealed()

    def mark_suspect(self) -> None:
        """Something failed in a way that the folder may be the cause of."""
        self._doubted = True
        self._note(self._health.unsealed())

    def discard(self, reason: str) -> None:
        """Empty the folder. Raises IndexUnavailable."""
        self._health = self._written = self._file.read()
        self._set_aside(reason, "given up")

    def clear(self) -> None:
        """Empty the folder for good, and delete what was set aside. Raises IndexUnavailable."""
        self._health = self._written = self._file.read()
        set_aside(self._folder, keep=False, room=lambda _: False)
        self._note(Health())

    def _set_aside(self, reason: str, detail: str) -> None:
        logger.warning("向量索引不再使用（{}）：{}", reason, detail)
        set_aside(self._folder, keep=reason != WORN, room=self._space.has)
        self._reason = reason
        self._note(Health())

    def _note(self, health: Health) -> None:
        self._health = health
        if health != self._written:
            self._written = health
            self._file.write(health)


def has_database(folder: Path) -> bool:
    """There is a database, sound or not. Raises OSError."""
    try:
        return (folder / DATABASE).stat().st_size > 0
    except FileNotFoundError:
        return False


def _unreadable(error: OSError) -> IndexUnavailable:
    return IndexUnavailable(f"{error.filename}: {error.strerror}", code="unreadable")
