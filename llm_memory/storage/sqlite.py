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

_ENDINGS: Final = ("", "-wal", "-shm", "-journal")


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


def connect(
    path: Path | None, *, wait_seconds: float, can_be_made_again: bool = False
) -> sqlite3.Connection:
    """Transactions are the caller's; any thread may use it, one at a time.

    Args:
        path: None for one that is kept nowhere.
        can_be_made_again: Its commits outlive a kill of the bot, and not every power cut.

    Raises sqlite3.DatabaseError.
    """
    connection = open_file(path, wait_seconds=wait_seconds) if path else connect_in_memory()
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={'NORMAL' if can_be_made_again else 'FULL'}")
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


def connect_numbered(
    path: Path | None, *, wait_seconds: float, number: int, tables: str
) -> sqlite3.Connection:
    """A file that can be made again, of this format, with its tables.

    Raises sqlite3.DatabaseError, SQLITE_FORMAT for one of another format.
    """
    connection = connect(path, wait_seconds=wait_seconds, can_be_made_again=True)
    try:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if found not in (0, number):
            raise _fault(sqlite3.SQLITE_FORMAT, f"format {found}")
        connection.executescript(tables)
        if not found:  # a file that is broken is set aside as it was found
            connection.execute(f"PRAGMA user_version={number}")
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def checkpoint_wal(connection: sqlite3.Connection) -> None:
    """Bring the log into the file and empty it: it holds what rows were before.

    Waits for nobody: its callers hold locks. Raises sqlite3.DatabaseError, SQLITE_BUSY while
    another program reads or writes the file: then the log may hold anything that it held.
    """
    ((patience,),) = connection.execute("PRAGMA busy_timeout").fetchall()
    connection.execute("PRAGMA busy_timeout=0")
    try:
        ((is_busy, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.execute(f"PRAGMA busy_timeout={patience}")
    if is_busy:
        raise _fault(sqlite3.SQLITE_BUSY, "another program has the file open")


def check(connection: sqlite3.Connection) -> None:
    """Look through all pages. Raises sqlite3.DatabaseError, SQLITE_CORRUPT."""
    for (verdict,) in connection.execute("PRAGMA quick_check(1)").fetchall():
        if verdict != "ok":
            raise _fault(sqlite3.SQLITE_CORRUPT, verdict)


def _fault(code: int, text: str) -> sqlite3.DatabaseError:
    fault = sqlite3.DatabaseError(text)
    fault.sqlite_errorcode = code
    return fault


def set_aside(path: Path) -> None:
    """With its log: SQLite would play an old log into the new file."""
    moment = time.time_ns()
    for ending in _ENDINGS:
        found = path.with_name(path.name + ending)
        if found.exists():
            move(found, path.with_suffix(f".broken-{moment}{ending}"))


def remove(path: Path) -> None:
    """With its log. Raises OSError."""
    for ending in _ENDINGS:
        path.with_name(path.name + ending).unlink(missing_ok=True)
