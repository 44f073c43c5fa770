"""SQLite as all files of ours use it: one way to open, one transaction, one idea of "broken"."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .files import make_file, move

_BROKEN: Final = frozenset(
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_ERROR}
)
"""The last one is said of a table that is not ours: missing columns are added."""
_ENDINGS: Final = ("-wal", "-shm", "-journal", "")
"""The file last: SQLite would play an old log into a new file."""
_UNREAD: Final = re.compile(r"error code=(\d+)")


def is_broken(error: BaseException) -> bool:
    """The file itself can never be used again. Whatever else fails (another's lock, a full disk,
    missing rights, a disk that does not answer) says nothing about it: the file stays."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BROKEN


def connect(
    path: Path | None, *, wait_seconds: float, can_be_made_again: bool = False
) -> sqlite3.Connection:
    """A file, made if missing, as private as its folder. Transactions are the caller's; any thread
    may use it, one at a time.

    Args:
        path: None for one that is kept nowhere.
        can_be_made_again: Its commits outlive a kill of the bot, and not every power cut.

    Raises sqlite3.DatabaseError.
    """
    if path:
        with contextlib.suppress(OSError):  # SQLite says what is wrong
            make_file(path)
    connection = sqlite3.connect(
        path or ":memory:", timeout=wait_seconds, check_same_thread=False, isolation_level=None
    )
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={'NORMAL' if can_be_made_again else 'FULL'}")
        connection.execute("PRAGMA secure_delete=ON")  # what is purged leaves no trace here
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def all_or_nothing(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
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


def check(connection: sqlite3.Connection) -> None:
    """Look through all pages. Raises sqlite3.DatabaseError: SQLITE_CORRUPT, or what the disk said
    of a page that could not be read."""
    for (verdict,) in connection.execute("PRAGMA quick_check(1)").fetchall():
        if verdict != "ok":
            unread = _UNREAD.search(verdict)
            raise fault(int(unread[1]) if unread else sqlite3.SQLITE_CORRUPT, verdict)


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
        raise fault(sqlite3.SQLITE_BUSY, "another program has the file open")


def fault(code: int, text: str) -> sqlite3.DatabaseError:
    """An error as SQLite would raise it."""
    made = sqlite3.DatabaseError(text)
    made.sqlite_errorcode = code
    return made


def set_aside(path: Path) -> None:
    """Keep a broken file for its owner, with its log. Raises OSError."""
    moment = time.time_ns()
    for ending in _ENDINGS:
        found = path.with_name(path.name + ending)
        if found.exists():
            move(found, path.with_suffix(f".broken-{moment}{ending}"))


def remove(path: Path) -> None:
    """Delete a broken file with its log. Raises OSError."""
    for ending in _ENDINGS:
        path.with_name(path.name + ending).unlink(missing_ok=True)


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
            raise fault(sqlite3.SQLITE_FORMAT, f"format {found}")
        connection.executescript(tables)
        if not found:  # a file that is broken is set aside as it was found
            connection.execute(f"PRAGMA user_version={number}")
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection
