"""What the bot last knew of the vault's files, in ``state/vault.sqlite``. It can be thrown away:
then it is unknown what was deleted while the bot was off."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from itertools import batched
from pathlib import Path

from ..errors import StateUnavailable
from ..log import logger
from ..storage.sqlite_file import SqliteFile, discard
from .ledger_rows import LEDGER, PUT_ENTRY, entry_of, file_of, row_of
from .models import BUFFER_SECONDS, FileKey, KnownEntry, KnownFile, RemovedEntry

_FILES = "SELECT scope, path, digest, plain, timeless FROM file"
_ENTRIES = "SELECT * FROM entry"
_AT_ONCE = 500
"""Values in one question: SQLite takes some thousand at most."""


class SqliteLedger(SqliteFile):
    """Entries and files as they were last written or seen, durable across a kill.

    Every method blocks; each row carries its scope. All but ``open`` and ``close`` raise
    StateUnavailable. Without a path, or where the file cannot be used, the ledger is kept in
    memory: all goes on, but for what was changed while the bot was off.
    """

    def __init__(self, path: Path | None = None) -> None:
        # After a power cut the vault's files are read anew anyway.
        super().__init__(path or Path(), LEDGER, can_be_made_again=True)
        self._durable = path is not None
        self._last_append = 0

    def open(self) -> bool:
        """Open the file. Returns False if nothing is kept after ``close``, or what was is lost."""
        with self._lock:
            if self._connection is not None:
                return True
            kept = self._durable
            if kept:
                try:
                    kept = super().open()
                except StateUnavailable as error:
                    logger.warning("changes_unknown", error=error)
            if self._connection is None:
                kept = False
                self.open_in_memory(empty=True)
                self._last_append = 0
            return kept

    def connect(self) -> sqlite3.Connection:
        connection = super().connect()
        (last,) = connection.execute("SELECT MAX(appended) FROM entry").fetchone()
        self._last_append = int(last or 0)
        return connection

    def _discard(self) -> None:
        discard(self._path, kept=True)  # it has the words of entries that are held

    def _stored(self, values: Sequence[object]) -> tuple[object, ...]:
        return tuple(values)  # a path that cannot be stored must not become another one

    def files(self) -> dict[FileKey, KnownFile]:
        """Returns all files."""
        return {(row[0], row[1]): file_of(row) for row in self.rows(_FILES)}

    def file(self, key: FileKey) -> KnownFile | None:
        """Returns one file."""
        rows = self.rows(f"{_FILES} WHERE scope = ? AND path = ?", key)
        return file_of(rows[0]) if rows else None

    def entry(self, scope: str, memory_id: str) -> KnownEntry | None:
        """Returns one entry."""
        found = self.rows(f"{_ENTRIES} WHERE scope = ? AND memory_id = ?", (scope, memory_id))
        return entry_of(found[0]) if found else None

    def entries_in(
        self, keys: Collection[FileKey], *, but: Collection[str] = ()
    ) -> list[KnownEntry]:
        """Returns the entries of some files, without those of some ids."""
        found: list[KnownEntry] = []
        for key in keys:
            rows = self.rows(f"{_ENTRIES} WHERE scope = ? AND path = ?", key)
            found += (entry_of(row) for row in rows if row[1] not in but)
        return found

    def entries_named(self, memory_ids: Collection[str]) -> list[KnownEntry]:
        """Returns all entries with these ids, in any scope."""
        found: list[KnownEntry] = []
        for some in batched(memory_ids, _AT_ONCE):
            marks = ", ".join("?" * len(some))
            found += map(entry_of, self.rows(f"{_ENTRIES} WHERE memory_id IN ({marks})", some))
        return found

    def held(self) -> list[KnownEntry]:
        """Returns the entries that are gone with most of their scope."""
        return [entry_of(row) for row in self.rows(f"{_ENTRIES} WHERE held = 1")]

    def counts(self) -> dict[str, int]:
        """Returns how many entries each scope had."""
        rows = self.rows("SELECT scope, COUNT(*) FROM entry GROUP BY scope")
        return {str(scope): int(count) for scope, count in rows}

    def record(
        self,
        *,
        files: Sequence[KnownFile] = (),
        entries: Sequence[KnownEntry] = (),
        gone: Collection[tuple[str, str]] = (),
        gone_files: Collection[FileKey] = (),
        departed: Sequence[RemovedEntry] = (),
    ) -> None:
        """Put files and entries; first take out entries (scope and id) and files that are gone.
        All of it, or nothing. An entry that is put has not departed."""
        with self.transaction() as connection:
            many = connection.executemany
            many("DELETE FROM entry WHERE scope = ? AND memory_id = ?", gone)
            many("DELETE FROM file WHERE scope = ? AND path = ?", gone_files)
            many(
                "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?)",
                [(f.scope, f.path, f.digest, f.plain, f.timeless) for f in files],
            )
            many(PUT_ENTRY, [row_of(entry) for entry in entries])
            many(
                "DELETE FROM departed WHERE scope = ? AND memory_id = ?",
                [(entry.scope, entry.memory_id) for entry in entries],
            )
            many(
                "INSERT OR REPLACE INTO departed VALUES (?, ?, ?, ?, ?)",
                [(d.scope, d.path, d.memory_id, d.digest, d.at) for d in departed],
            )
            if departed:
                oldest = max(d.at for d in departed) - BUFFER_SECONDS
                connection.execute("DELETE FROM departed WHERE at < ?", (oldest,))

    def forget(self, memory_ids: Iterable[str]) -> None:
        """Delete what was noted of entries that were purged, and how any entry was before the bot
        rewrote it."""
        rows = [(memory_id,) for memory_id in memory_ids]
        with self.transaction() as connection:
            for table in ("departed", "moving"):
                connection.executemany(
                    f"DELETE FROM {table} WHERE memory_id = ?",  # noqa: S608  (names of ours)
                    rows,
                )
            connection.execute(
                "UPDATE entry SET prior = '', prior_digest = '', rewritten_at = 0 WHERE prior <> ''"
            )

    def next_append(self) -> int:
        """Returns the number of the next append; it rises."""
        with self._lock:
            self._last_append += 1
            return self._last_append

    def departed(self) -> list[RemovedEntry]:
        """Returns what the bot took out of files lately."""
        rows = self.rows("SELECT scope, path, memory_id, digest, at FROM departed")
        return [RemovedEntry(*row) for row in rows]

    def begin_move(self, memory_id: str, source: str, target: str) -> None:
        """Note that an entry is about to be copied to another scope, and then cut. From now on it
        has not departed from there: after a crash the copy is no old save that came back."""
        with self.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO moving VALUES (?, ?, ?)", (memory_id, source, target)
            )
            connection.execute(
                "DELETE FROM departed WHERE scope = ? AND memory_id = ?", (target, memory_id)
            )

    def unfinished_moves(self) -> list[tuple[str, str, str]]:
        """Returns id, source and target of each move that began and did not end."""
        return [tuple(row) for row in self.rows("SELECT memory_id, scope, target FROM moving")]

    def end_move(self, memory_id: str) -> None:
        """Note that the move ended."""
        self.rows("DELETE FROM moving WHERE memory_id = ?", (memory_id,))
