"""What the bot last knew of the vault's files, in ``state/vault.sqlite``. It can be thrown away:
then nobody knows what was deleted while the bot was off."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import EngineClosed, StateUnavailable
from ..log import logger
from ..markdown.entry import parse, render
from ..models.vault_state import BUFFER_SECONDS, Departed, FileKey, KnownEntry, KnownFile
from ..ports.ledger import Deed, DeedKind
from .files import move
from .transactions import all_or_nothing

_TABLES = """
CREATE TABLE IF NOT EXISTS file (
    scope TEXT NOT NULL, path TEXT NOT NULL, digest TEXT NOT NULL, plain TEXT NOT NULL,
    timeless INTEGER NOT NULL, PRIMARY KEY (scope, path)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entry (
    scope TEXT NOT NULL, memory_id TEXT NOT NULL, path TEXT NOT NULL, text TEXT NOT NULL,
    digest TEXT NOT NULL, appended INTEGER NOT NULL, appended_at REAL NOT NULL,
    before TEXT NOT NULL, after TEXT NOT NULL, returned INTEGER NOT NULL, prior TEXT NOT NULL,
    prior_digest TEXT NOT NULL, rewritten_at REAL NOT NULL, held INTEGER NOT NULL,
    PRIMARY KEY (scope, memory_id));
CREATE INDEX IF NOT EXISTS entry_place ON entry (scope, path);
CREATE INDEX IF NOT EXISTS entry_name ON entry (memory_id);
CREATE TABLE IF NOT EXISTS departed (
    scope TEXT NOT NULL, path TEXT NOT NULL, memory_id TEXT NOT NULL, digest TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (scope, memory_id));
CREATE TABLE IF NOT EXISTS moving (
    memory_id TEXT PRIMARY KEY, scope TEXT NOT NULL, target TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS deed (
    number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, memory_id TEXT NOT NULL,
    scope TEXT NOT NULL, target TEXT NOT NULL, person TEXT NOT NULL, conversation TEXT NOT NULL,
    words TEXT NOT NULL);
"""
_FORMAT = 1
_NO_TIME = datetime.fromtimestamp(0, UTC)
_AT_ONCE = 500
"""Values in one question: SQLite takes some thousand at most."""
_DEEDS_KEPT = 500
_PUT_ENTRY = f"INSERT OR REPLACE INTO entry VALUES ({', '.join('?' * 14)})"  # noqa: S608


class SqliteLedger:
    """Implements the ``EntryLedger`` port. Without a path, or where the file cannot be used, it is
    kept in memory: all goes on, but for what was changed while the bot was off."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._last_append = 0

    def open(self) -> bool:
        with self._lock:
            if self._connection is not None:
                return True
            if self._path is None:
                self._connection = _connected(":memory:")
                return False
            kept = True
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                try:
                    self._connection = _connected(str(self._path))
                except sqlite3.DatabaseError as error:
                    if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL):
                        raise
                    kept = False
                    self._set_aside(self._path)
                    self._connection = _connected(str(self._path))
            except (sqlite3.Error, OSError) as error:
                logger.warning("{} 用不了，不知道停机期间改了什么：{}", self._path.name, error)
                self._connection = _connected(":memory:")
                return False
            (last,) = self._connection.execute("SELECT MAX(appended) FROM entry").fetchone()
            self._last_append = int(last or 0)
            return kept

    def _set_aside(self, path: Path) -> None:
        moment = time.time_ns()
        for ending in ("", "-wal", "-shm"):
            part = path.with_name(path.name + ending)
            if part.exists():
                move(part, path.with_suffix(f".broken-{moment}{ending}"))

    def files(self) -> dict[FileKey, KnownFile]:
        rows = self._run("SELECT scope, path, digest, plain, timeless FROM file")
        return {(row[0], row[1]): _file(row) for row in rows}

    def file(self, key: FileKey) -> KnownFile | None:
        rows = self._run(
            "SELECT scope, path, digest, plain, timeless FROM file WHERE scope = ? AND path = ?",
            key,
        )
        return _file(rows[0]) if rows else None

    def entry(self, scope: str, memory_id: str) -> KnownEntry | None:
        found = self._run(
            "SELECT * FROM entry WHERE scope = ? AND memory_id = ?", (scope, memory_id)
        )
        return _entry(found[0]) if found else None

    def entries_in(self, keys: Collection[FileKey]) -> list[KnownEntry]:
        found: list[KnownEntry] = []
        for key in keys:
            rows = self._run("SELECT * FROM entry WHERE scope = ? AND path = ?", key)
            found += map(_entry, rows)
        return found

    def entries_named(self, memory_ids: Collection[str]) -> list[KnownEntry]:
        names = list(memory_ids)
        found: list[KnownEntry] = []
        for start in range(0, len(names), _AT_ONCE):
            some = tuple(names[start : start + _AT_ONCE])
            marks = ", ".join("?" * len(some))
            rows = self._run(f"SELECT * FROM entry WHERE memory_id IN ({marks})", some)  # noqa: S608
            found += map(_entry, rows)
        return found

    def held(self) -> list[KnownEntry]:
        return [_entry(row) for row in self._run("SELECT * FROM entry WHERE held = 1")]

    def counts(self) -> dict[str, int]:
        rows = self._run("SELECT scope, COUNT(*) FROM entry GROUP BY scope")
        return {str(scope): int(count) for scope, count in rows}

    def record(
        self,
        *,
        files: Sequence[KnownFile] = (),
        entries: Sequence[KnownEntry] = (),
        gone: Collection[tuple[str, str]] = (),
        gone_files: Collection[FileKey] = (),
        departed: Sequence[Departed] = (),
    ) -> None:
        with self._transaction() as connection:
            many = connection.executemany
            many("DELETE FROM entry WHERE scope = ? AND memory_id = ?", gone)
            many("DELETE FROM file WHERE scope = ? AND path = ?", gone_files)
            many(
                "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?)",
                [(f.scope, f.path, f.digest, f.plain, f.timeless) for f in files],
            )
            many(
                _PUT_ENTRY,
                [_row(entry) for entry in entries],
            )
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

    def next_append(self) -> int:
        with self._lock:
            self._last_append += 1
            return self._last_append

    def departed(self) -> list[Departed]:
        rows = self._run("SELECT scope, path, memory_id, digest, at FROM departed")
        return [Departed(*row) for row in rows]

    def begin_move(self, memory_id: str, source: str, target: str) -> None:
        self._run("INSERT OR REPLACE INTO moving VALUES (?, ?, ?)", (memory_id, source, target))

    def unfinished_moves(self) -> list[tuple[str, str, str]]:
        return [tuple(row) for row in self._run("SELECT memory_id, scope, target FROM moving")]

    def end_move(self, memory_id: str) -> None:
        self._run("DELETE FROM moving WHERE memory_id = ?", (memory_id,))

    def add_deed(self, deed: Deed) -> None:
        with self._transaction() as connection:
            made = connection.execute(
                "INSERT INTO deed (kind, memory_id, scope, target, person, conversation, words)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    str(deed.kind),
                    deed.memory_id,
                    deed.source,
                    deed.target,
                    deed.person,
                    deed.conversation,
                    deed.words,
                ),
            )
            oldest = (made.lastrowid or 0) - _DEEDS_KEPT
            connection.execute("DELETE FROM deed WHERE number <= ?", (oldest,))

    def deeds(self, memory_id: str = "", *, person: str = "", conversation: str = "") -> list[Deed]:
        rows = self._run(
            "SELECT * FROM deed WHERE (? = '' OR memory_id = ?) AND (? = '' OR person = ?)"
            " AND (? = '' OR conversation = ?) ORDER BY number DESC",
            (memory_id, memory_id, person, person, conversation, conversation),
        )
        return [Deed(row[0], DeedKind(row[1]), *row[2:]) for row in rows]

    def drop_deed(self, number: int) -> None:
        self._run("DELETE FROM deed WHERE number = ?", (number,))

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _run(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._lock, _translated(self._path):
            return self._opened().execute(statement, tuple(values)).fetchall()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with (
            self._lock,
            _translated(self._path),
            all_or_nothing(self._opened()) as connection,
        ):
            yield connection

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise EngineClosed("the ledger is closed")
        return self._connection


def _connected(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=5.0, check_same_thread=False, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        # Outlives a kill of the bot; after a power cut the files are read anew anyway.
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA secure_delete=FAST")  # what is forgotten leaves no trace here
        (number,) = connection.execute("PRAGMA user_version").fetchone()
        if number not in (0, _FORMAT):
            broken = sqlite3.DatabaseError(f"format {number}")
            broken.sqlite_errorcode = sqlite3.SQLITE_FORMAT
            raise broken
        connection.executescript(_TABLES)
        connection.execute(f"PRAGMA user_version={_FORMAT}")
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _translated(path: Path | None) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeEncodeError) as error:
        raise StateUnavailable(str(error), str(path or "")) from error


def _file(row: tuple[Any, ...]) -> KnownFile:
    scope, path, digest, plain, timeless = row
    return KnownFile(scope, path, digest, plain, bool(timeless))


def _row(entry: KnownEntry) -> tuple[object, ...]:
    return (
        entry.scope,
        entry.memory_id,
        entry.path,
        render(entry.memory),
        entry.digest,
        entry.appended,
        entry.appended_at,
        entry.before,
        entry.after,
        entry.returned,
        render(entry.prior) if entry.prior else "",
        entry.prior_digest,
        entry.rewritten_at,
        entry.held,
    )


def _entry(row: tuple[Any, ...]) -> KnownEntry:
    scope, _, path, text, digest, *marks = row
    appended, appended_at, before, after, returned, prior, prior_digest, rewritten_at, held = marks
    return KnownEntry(
        scope=scope,
        path=path,
        memory=parse(text, fallback_time=_NO_TIME),
        digest=digest,
        appended=appended,
        appended_at=appended_at,
        before=before,
        after=after,
        returned=bool(returned),
        prior=parse(prior, fallback_time=_NO_TIME) if prior else None,
        prior_digest=prior_digest,
        rewritten_at=rewritten_at,
        held=bool(held),
    )
