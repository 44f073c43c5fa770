"""SQLite as all files of ours use it: one way to open, one transaction, one idea of "broken"."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from ..errors import EngineClosed, ScopedMemoryError, StateUnavailable
from .files import make_file, make_folder, move
from .formats.schema import Schema, fault, peek

_BROKEN: Final = frozenset(
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_ERROR}
)
"""The last one is said of a table that is not ours: missing columns are added."""
_ENDINGS: Final = ("-wal", "-shm", "-journal", "")
"""The file last: SQLite would play an old log into a new file."""
_UNREAD: Final = re.compile(r"error code=(\d+)")


class SqliteFile:
    """Safe to call from any thread, one call at a time. Every method blocks.

    Where it could not be opened, its methods raise StateUnavailable until it is opened again; after
    ``close``, EngineClosed.
    """

    WAIT_SECONDS = 5.0
    """For another's lock on the file."""
    SCHEMA: ClassVar[Schema]
    """Of a kind of files, where none is given."""

    def __init__(
        self,
        path: Path,
        schema: Schema | None = None,
        *,
        version: str = "",
        can_be_made_again: bool = False,
    ) -> None:
        """``version`` is the plugin's, which signs a new file.

        What ``can_be_made_again`` outlives a kill of the bot, and not every power cut; a broken one
        is removed and not set aside, and so is one of another format."""
        self._path = path
        self._schema = schema or self.SCHEMA
        self._version = version
        self._can_be_made_again = can_be_made_again
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._is_kept = True
        self._absent: ScopedMemoryError = EngineClosed(f"{path.name} is closed")

    def open(self) -> bool:
        """Look through the file and add the tables and columns that are missing. Returns False
        where it was broken and a new one was begun. Raises StateUnavailable: it is as it was."""
        with self._lock, self._translated():
            make_folder(self._path.parent)
            try:
                self._connection = self.connect()
            except sqlite3.DatabaseError as error:
                if not is_broken(error):
                    raise
                self._discard()
                self._connection = self.connect()
                return False
        return True

    def _discard(self) -> None:
        """What becomes of a broken file. Raises OSError."""
        discard(self._path, kept=not self._can_be_made_again)

    def connect(self) -> sqlite3.Connection:
        """A new connection to the checked file. Raises sqlite3.Error."""
        return self._checked(self._path)

    def open_in_memory(self, *, empty: bool = False) -> None:
        """Where ``open`` failed: go on with what can be read of the file, if anything, or with an
        ``empty`` one. Nothing is kept beyond ``close``."""
        with self._lock:
            self._is_kept = False
            # What cannot be written can often be read: a full disk, wrong permissions, a lock.
            with contextlib.suppress(sqlite3.Error, OSError):
                if not empty:
                    with peek(self._path) as source:
                        self._connection = self._checked(None, source)
                    return
            self._connection = self._checked(None)

    def _checked(
        self, path: Path | None, source: sqlite3.Connection | None = None
    ) -> sqlite3.Connection:
        """A file, made if missing, as private as its folder; kept nowhere without a path. Any
        thread may use the connection, one at a time."""
        if path and not path.exists():  # closing another handle drops our locks on an open file
            with contextlib.suppress(OSError):  # SQLite says what is wrong
                make_file(path)
        connection = sqlite3.connect(
            path or ":memory:",
            timeout=self.WAIT_SECONDS,
            check_same_thread=False,
            isolation_level=None,  # transactions are ours
        )
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            lasting = "NORMAL" if self._can_be_made_again else "FULL"
            connection.execute(f"PRAGMA synchronous={lasting}")
            connection.execute("PRAGMA secure_delete=ON")  # what is purged leaves no trace here
            if source is not None:
                source.backup(connection)
            _look_through(connection)
            # Under the write lock: another program may be about to add the same column.
            with _all_or_nothing(connection):
                self._schema.complete(connection, self._version, exactly=self._can_be_made_again)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Idempotent."""
        with self._lock:
            self._absent = EngineClosed(f"{self._path.name} is closed")
            self._is_kept = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def check(self) -> None:
        """Look through the file as it lies on the disk, whatever this connection holds of it.
        Raises StateUnavailable."""
        if self._is_kept:
            with self._translated(), contextlib.closing(self.connect()):
                pass

    def checkpoint_wal(self) -> None:
        """Bring the log into the file and empty it: it holds what rows were before.

        Waits for nobody: its callers hold locks. Raises StateUnavailable while another program
        reads or writes the file: then the log may hold anything that it held.
        """
        with self._lock, self._translated():
            connection = self._ready()
            connection.execute("PRAGMA busy_timeout=0")
            try:
                ((is_busy, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                connection.execute(f"PRAGMA busy_timeout={int(self.WAIT_SECONDS * 1000)}")
            if is_busy:
                raise fault(sqlite3.SQLITE_BUSY, "another program has the file open")

    def rows(self, question: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All that a question finds."""
        with self._lock, self._translated():
            return self._ready().execute(question, self._stored(values)).fetchall()

    def write(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """One statement for each row: all of them or none. On disk when it returns."""
        with self.transaction() as connection:
            connection.executemany(statement, [self._stored(row) for row in rows])

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Several statements: all of them or none. On disk when the block is left."""
        with self._lock, self._translated(), _all_or_nothing(self._ready()) as connection:
            yield connection

    def _ready(self) -> sqlite3.Connection:
        if self._connection is None:
            raise self._absent.with_traceback(None)
        return self._connection

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeEncodeError) as error:
            cause = (isinstance(error, OSError) and error.strerror) or str(error)
            unavailable = StateUnavailable(cause, str(self._path))
            if self._connection is None:
                self._absent = unavailable
            raise unavailable from error

    def _stored(self, values: Sequence[object]) -> tuple[object, ...]:
        return tuple(map(sound, values))


def sound(value: object) -> object:
    """Half a surrogate pair, as old chat programs left them, would refuse the whole row."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def is_broken(error: BaseException) -> bool:
    """The file itself can never be used again. Whatever else fails (another's lock, a full disk,
    missing rights, a disk that does not answer) says nothing about it: the file stays."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BROKEN


@contextlib.contextmanager
def _all_or_nothing(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """A transaction that holds the write lock from its beginning. What is raised inside undoes
    it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _look_through(connection: sqlite3.Connection) -> None:
    """Look through all pages. Raises sqlite3.DatabaseError: SQLITE_CORRUPT, or what the disk said
    of a page that could not be read."""
    for (verdict,) in connection.execute("PRAGMA quick_check(1)").fetchall():
        if verdict != "ok":
            unread = _UNREAD.search(verdict)
            raise fault(int(unread[1]) if unread else sqlite3.SQLITE_CORRUPT, verdict)


def discard(path: Path, *, kept: bool) -> None:
    """Delete a broken file with its log, unless it is ``kept`` for its owner. Raises OSError."""
    moment = time.time_ns()
    for ending in _ENDINGS:
        found = path.with_name(path.name + ending)
        if kept and found.exists():
            move(found, path.with_suffix(f".broken-{moment}{ending}"))
        found.unlink(missing_ok=True)
