"""The tables of a SQLite file of ours, and the number that they have in ``meta.format``."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..sqlite import fault
from .numbers import FormatStamp, refuse_newer
from .peek import peek

_META: Final = "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)"


@dataclass(frozen=True, slots=True)
class Schema:
    """``older``: by number, the statements that a file of a smaller one needs first."""

    format: int
    tables: str
    older: Mapping[int, Sequence[str]] = field(default_factory=dict)

    def complete(
        self, connection: sqlite3.Connection, written_by: str, *, exactly: bool = False
    ) -> None:
        """Make whatever tables and columns are missing, inside the caller's transaction. A number
        that stands there stays, unless it is smaller, and so does who wrote it.

        Raises sqlite3.DatabaseError: SQLITE_FORMAT for any other number, if it is wanted
        ``exactly``.
        """
        connection.execute(_META)
        stamp = _stamp(connection)
        if exactly and stamp and stamp.format != self.format:
            raise fault(sqlite3.SQLITE_FORMAT, f"format {stamp.format}")
        if stamp is None or stamp.format < self.format:
            before = self.format if stamp is None else stamp.format
            for number, statements in self.older.items():
                for statement in statements if before < number else ():
                    connection.execute(statement)
            for name, value in (("format", str(self.format)), ("written_by", written_by)):
                connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
        for statement in self.tables.split(";"):
            connection.execute(statement)
        self._add_columns(connection)

    def _add_columns(self, connection: sqlite3.Connection) -> None:
        """Each has a default, which rows of before get."""
        with contextlib.closing(sqlite3.connect(":memory:")) as fresh:
            fresh.executescript(self.tables)
            wanted = fresh.execute(
                "SELECT t.name, c.name, c.type, c.dflt_value FROM sqlite_master t"
                " JOIN pragma_table_info(t.name) c WHERE t.type = 'table'"
            ).fetchall()
        for table, name, kind, default in wanted:
            there = connection.execute(
                "SELECT 1 FROM pragma_table_info(?) WHERE name = ?", (table, name)
            )
            if there.fetchone() is None:
                connection.execute(
                    f"ALTER TABLE {table} ADD COLUMN {name} {kind} NOT NULL DEFAULT {default}"
                )

    def refuse_newer(self, path: Path, version: str) -> None:
        """Raises FormatNewer; leaves no trace. A file that is missing or broken is left to who
        opens it."""
        if not path.is_file():
            return
        with contextlib.suppress(sqlite3.Error, OSError), peek(path) as connection:
            refuse_newer(path, _stamp(connection), self.format, version)


def _stamp(connection: sqlite3.Connection) -> FormatStamp | None:
    """Raises sqlite3.Error."""
    found = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    number = str(found.get("format", ""))
    return FormatStamp(int(number), found.get("written_by", "")) if number.isdecimal() else None
