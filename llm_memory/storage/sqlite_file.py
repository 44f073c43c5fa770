"""A SQLite file of small facts, begun anew where it is broken: one connection, one lock, translated
errors."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import EngineClosed, StateUnavailable
from .files import make_folder
from .sqlite import checkpoint_wal, connect_checked, is_broken, set_aside
from .transactions import all_or_nothing

MakeTables = Callable[[sqlite3.Connection, str], None]
"""Makes what tables are missing; the text is the plugin's version, which signs a new file."""


class SqliteFile:
    """Safe to call from any thread, one call at a time.

    Where it could not be opened, its methods raise StateUnavailable until it is opened again; after
    ``close``, EngineClosed.
    """

    WAIT_SECONDS = 5.0
    """For another's lock on the file."""

    def __init__(self, path: Path, make_tables: MakeTables, *, version: str = "") -> None:
        """``version`` is the plugin's."""
        self._path = path
        self._make_tables = make_tables
        self._version = version
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._failure = ""

    def open(self) -> bool:
        """Returns False where the file was broken, is set aside for its owner, and a new one was
        begun: no memory is lost with it. Raises StateUnavailable."""
        with self._lock:
            try:
                with self._translated():
                    return self._open()
            except StateUnavailable as error:
                self._failure = error.cause
                raise

    def _open(self) -> bool:
        make_folder(self._path.parent)
        try:
            self._connection = self.connect()
        except sqlite3.DatabaseError as error:
            if not is_broken(error):
                raise  # locked, a full disk: the file itself is fine
            set_aside(self._path)
            self._connection = self.connect()
            return False
        return True

    def connect(self) -> sqlite3.Connection:
        """A new connection to the checked file. Raises sqlite3.Error, OSError."""
        return connect_checked(self._path, wait_seconds=self.WAIT_SECONDS, complete=self._complete)

    def _complete(self, connection: sqlite3.Connection) -> None:
        self._make_tables(connection, self._version)

    def close(self) -> None:
        """Idempotent."""
        with self._lock:
            self._failure = ""
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def check(self) -> None:
        """Look through the file as it lies on the disk, whatever this connection holds of it.
        Raises StateUnavailable."""
        with self._translated(), contextlib.closing(self.connect()):
            pass

    def checkpoint_wal(self) -> None:
        """Leave nothing of what rows were before. Raises StateUnavailable."""
        with self._lock, self._translated():
            checkpoint_wal(self._ready())

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
        with self._lock, self._translated(), all_or_nothing(self._ready()) as connection:
            yield connection

    def _ready(self) -> sqlite3.Connection:
        if self._connection is not None:
            return self._connection
        if self._failure:
            raise StateUnavailable(self._failure, str(self._path))
        raise EngineClosed(f"{self._path.name} is closed")

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeEncodeError) as error:
            cause = (isinstance(error, OSError) and error.strerror) or str(error)
            raise StateUnavailable(cause, str(self._path)) from error

    def _stored(self, values: Sequence[object]) -> tuple[object, ...]:
        return tuple(map(sound, values))


def sound(value: object) -> object:
    """Half a surrogate pair, as old chat programs left them, would refuse the whole row."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value
