"""Small durable facts in ``state/state.sqlite``. Each row that holds words carries its scope."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from ..errors import EngineClosed, StateUnavailable
from ..ports import Key, QueuedTurn

FORMAT = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS seen_conversation (umo TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS map_key (key TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS lost_map_key (key TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS public_peer (person TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS use_count (
    scope TEXT NOT NULL, memory_id TEXT NOT NULL, uses INTEGER NOT NULL,
    PRIMARY KEY (scope, memory_id));
CREATE TABLE IF NOT EXISTS turn (
    ticket_id TEXT PRIMARY KEY, scope TEXT NOT NULL, conversation TEXT NOT NULL,
    observed_at TEXT NOT NULL, person TEXT NOT NULL, who TEXT NOT NULL,
    user_text TEXT NOT NULL, reply_text TEXT NOT NULL);
"""
_BROKEN = frozenset(
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_ERROR}
)


class SqliteStateStore:
    """Implements the ``StateStore`` port. Safe to call from any thread, one call at a time."""

    WAIT_SECONDS = 5.0
    """For another's lock on the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def open(self) -> bool:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with _translated():
            try:
                self._connection = self._connect()
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode & 0xFF not in _BROKEN:
                    raise  # locked, a full disk: the file itself is fine
                # The facts here steer warnings and counters; the memories stand in the vault. So a
                # file that is no database is kept for its owner, and a new one begun.
                self._set_aside()
                self._connection = self._connect()
                return False
        return True

    def _set_aside(self) -> None:
        """With its log: SQLite would play an old log into the new file."""
        moment = time.time_ns()
        for ending in ("", "-wal", "-shm"):
            path = self._path.with_name(self._path.name + ending)
            if path.exists():
                path.replace(self._path.with_suffix(f".broken-{moment}{ending}"))

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=self.WAIT_SECONDS, check_same_thread=False, isolation_level=None
        )
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            for (verdict,) in connection.execute("PRAGMA quick_check(1)").fetchall():
                if verdict != "ok":
                    broken = sqlite3.DatabaseError(verdict)
                    broken.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
                    raise broken
            connection.executescript(_TABLES)
            connection.execute("INSERT OR IGNORE INTO meta VALUES ('format', ?)", (str(FORMAT),))
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection

    def seen_conversations(self) -> frozenset[str]:
        return self._column("SELECT umo FROM seen_conversation")

    def mark_seen(self, umo: str) -> None:
        self._run("INSERT OR IGNORE INTO seen_conversation VALUES (?)", (umo,))

    def remembered_map_keys(self) -> frozenset[str]:
        return self._column("SELECT key FROM map_key")

    def lost_map_keys(self) -> frozenset[str]:
        return self._column("SELECT key FROM lost_map_key")

    def remember_map_keys(self, keys: Iterable[str], *, lost: Iterable[str]) -> None:
        with self._lock, self._transaction() as connection:
            connection.execute("DELETE FROM map_key")
            connection.execute("DELETE FROM lost_map_key")
            connection.executemany("INSERT INTO map_key VALUES (?)", [(key,) for key in keys])
            connection.executemany("INSERT INTO lost_map_key VALUES (?)", [(k,) for k in lost])

    def public_peers(self) -> frozenset[str]:
        return self._column("SELECT person FROM public_peer")

    def add_public_peer(self, person: str) -> None:
        self._run("INSERT OR IGNORE INTO public_peer VALUES (?)", (person,))

    def put_turn(self, turn: QueuedTurn) -> None:
        self._run(
            "INSERT INTO turn VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                turn.ticket_id,
                turn.scope,
                turn.conversation,
                turn.observed_at.isoformat(),
                turn.person,
                turn.who,
                turn.user_text,
                turn.reply_text,
            ),
        )

    def get_turn(self, ticket_id: str) -> QueuedTurn | None:
        rows = self._run("SELECT * FROM turn WHERE ticket_id = ?", (ticket_id,))
        if not rows:
            return None
        ticket, scope, conversation, observed_at, *words = rows[0]
        moment = datetime.fromisoformat(observed_at)
        return QueuedTurn(ticket, scope, conversation, moment, *words)

    def drop_turn(self, ticket_id: str) -> None:
        self._run("DELETE FROM turn WHERE ticket_id = ?", (ticket_id,))

    def queue_length(self) -> int:
        return int(self._run("SELECT COUNT(*) FROM turn")[0][0])

    def count_use(self, keys: Sequence[Key]) -> None:
        with self._lock, self._transaction() as connection:
            connection.executemany(
                "INSERT INTO use_count VALUES (?, ?, 1)"
                " ON CONFLICT (scope, memory_id) DO UPDATE SET uses = uses + 1",
                [(key.scope, key.memory_id) for key in keys],
            )

    def uses(self, key: Key) -> int:
        rows = self._run(
            "SELECT uses FROM use_count WHERE scope = ? AND memory_id = ?",
            (key.scope, key.memory_id),
        )
        return int(rows[0][0]) if rows else 0

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _column(self, query: str) -> frozenset[str]:
        return frozenset(str(row[0]) for row in self._run(query))

    def _run(self, statement: str, values: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
        with self._lock, _translated():
            return self._open_connection().execute(statement, values).fetchall()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        connection = self._open_connection()
        with _translated():
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise EngineClosed("the state store is closed")
        return self._connection


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, UnicodeEncodeError) as error:
        raise StateUnavailable(f"state: {error}") from error
