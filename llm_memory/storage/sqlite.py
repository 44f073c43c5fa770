"""For the indexes that go with the old rooms of ``index/``."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from .formats.schema import fault
from .sqlite_file import _connected, check, is_broken, remove

__all__ = ["check", "checkpoint_wal", "connect", "connect_numbered", "is_broken", "remove"]


def connect(
    path: Path | None, *, wait_seconds: float, can_be_made_again: bool = False
) -> sqlite3.Connection:
    """See ``SqliteFile``. Raises sqlite3.DatabaseError."""
    return _connected(path, wait_seconds, lasting=not can_be_made_again)


def checkpoint_wal(connection: sqlite3.Connection) -> None:
    """See ``SqliteFile.checkpoint_wal``. Raises sqlite3.DatabaseError."""
    ((patience,),) = connection.execute("PRAGMA busy_timeout").fetchall()
    connection.execute("PRAGMA busy_timeout=0")
    try:
        ((is_busy, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.execute(f"PRAGMA busy_timeout={patience}")
    if is_busy:
        raise fault(sqlite3.SQLITE_BUSY, "another program has the file open")


def connect_numbered(
    path: Path | None, *, wait_seconds: float, number: int, tables: str
) -> sqlite3.Connection:
    """Raises sqlite3.DatabaseError, SQLITE_FORMAT for one of another format."""
    connection = connect(path, wait_seconds=wait_seconds, can_be_made_again=True)
    try:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if found not in (0, number):
            raise fault(sqlite3.SQLITE_FORMAT, f"format {found}")
        connection.executescript(tables)
        if not found:
            connection.execute(f"PRAGMA user_version={number}")
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection
