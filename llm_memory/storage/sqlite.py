"""A SQLite file whose commits are on the disk: opened, looked through, set aside when broken."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from .files import make_file, move

_BROKEN: Final = frozenset(
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_ERROR}
)


def is_broken(error: sqlite3.DatabaseError) -> bool:
    """The file itself is unusable; a lock or a full disk says nothing about it."""
    return error.sqlite_errorcode & 0xFF in _BROKEN


def open_file(path: Path, *, wait_seconds: float) -> sqlite3.Connection:
    """Made if missing, and then as private as its folder; SQLite gives its log the same rights.
    Transactions are the caller's; any thread may use it, one at a time.

    Raises sqlite3.DatabaseError.
    """
    with contextlib.suppress(OSError):  # SQLite says what is wrong
        make_file(path)
    return sqlite3.connect(
        path, timeout=wait_seconds, check_same_thread=False, isolation_level=None
    )


def connect_in_memory() -> sqlite3.Connection:
    """The same, kept nowhere."""
    return sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)


def connect(path: Path, *, wait_seconds: float) -> sqlite3.Connection:
    """Transactions are the caller's; any thread may use it, one at a time.

    Raises sqlite3.DatabaseError.
    """
    connection = open_file(path, wait_seconds=wait_seconds)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA secure_delete=ON")  # what is purged leaves no trace here
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def connect_checked(
    path: Path, *, wait_seconds: float, complete: Callable[[sqlite3.Connection], None]
) -> sqlite3.Connection:
    """A file that was looked through, with its tables: ``complete`` makes what is missing.

    Raises sqlite3.DatabaseError.
    """
    connection = connect(path, wait_seconds=wait_seconds)
    try:
        check(connection)
        complete(connection)
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def checkpoint_wal(connection: sqlite3.Connection) -> None:
    """Bring the log into the file and empty it: it holds what rows were before."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def check(connection: sqlite3.Connection) -> None:
    """Look through all pages. Raises sqlite3.DatabaseError, SQLITE_CORRUPT."""
    for (verdict,) in connection.execute("PRAGMA quick_check(1)").fetchall():
        if verdict != "ok":
            broken = sqlite3.DatabaseError(verdict)
            broken.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise broken


def set_aside(path: Path) -> None:
    """With its log: SQLite would play an old log into the new file."""
    moment = time.time_ns()
    for ending in ("", "-wal", "-shm"):
        found = path.with_name(path.name + ending)
        if found.exists():
            move(found, path.with_suffix(f".broken-{moment}{ending}"))
