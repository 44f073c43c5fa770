"""The numbers of on-disk formats, and the tables of a SQLite file, whose number is ``meta.format``.

A newer number is refused, tables and columns that are missing are added.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ...errors import FormatNewer
from ..files import scratch_folder

_VERSION: Final = re.compile(r"v?\d[\w.+-]{0,39}")
_LONGEST: Final = 64 * 1024
_META: Final = "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)"

type Written = tuple[int, str]
"""A format's number, and the version that first wrote it: empty if unknown."""


def tables(name: str) -> str:
    """Returns the statements that make the tables of a file of this name."""
    return Path(__file__).with_name(f"{name}.sql").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class Schema:
    """``older`` are tables that a file of a smaller number has in another form: they are dropped
    with what is in them, and so is any that is not ours any more."""

    format: int
    tables: str
    older: tuple[str, ...] = ()

    def complete(
        self, connection: sqlite3.Connection, written_by: str, *, exactly: bool = False
    ) -> None:
        """Make whatever tables and columns are missing, inside the caller's transaction. A number
        that stands there stays, unless it is smaller, and so does who wrote it.

        Raises sqlite3.DatabaseError: SQLITE_FORMAT for any other number, if it is wanted
        ``exactly``.
        """
        connection.execute(_META)
        number, _ = _written(connection) or (0, "")
        if exactly and number not in (0, self.format):
            raise fault(sqlite3.SQLITE_FORMAT, f"format {number}")
        if number < self.format:
            for name in self.older:
                connection.execute(f"DROP TABLE IF EXISTS {name}")
            for row in (("format", str(self.format)), ("written_by", written_by)):
                connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", row)
        for statement in self.tables.split(";"):
            connection.execute(statement)
        self._fit(connection)

    def _fit(self, connection: sqlite3.Connection) -> None:
        """Drop the tables that are not ours any more, for their words would outlive a purge. Add
        the columns that are missing: each has a default, which rows of before get."""
        with contextlib.closing(sqlite3.connect(":memory:")) as fresh:
            fresh.executescript(self.tables)
            wanted = fresh.execute(
                "SELECT t.name, c.name, c.type, c.dflt_value FROM sqlite_master t"
                " JOIN pragma_table_info(t.name) c WHERE t.type = 'table'"
            ).fetchall()
        ours = {"meta", *(table for table, *_ in wanted)}
        question = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        for (table,) in connection.execute(question).fetchall():
            if table not in ours:
                connection.execute(f'DROP TABLE "{table}"')
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
        with contextlib.suppress(sqlite3.Error, OSError), peek(path) as connection:
            refuse_newer(path, _written(connection), self.format, version)


@contextlib.contextmanager
def peek(path: Path) -> Iterator[sqlite3.Connection]:
    """What stands in a SQLite file. An ordinary reader makes files beside the database and may
    checkpoint its write-ahead log: so where that is left alone, both are copied; without the log
    where the disk has no room. What may be open is read by SQLite itself, for who closes a copied
    file drops the locks that this process has on it. Raises sqlite3.Error, OSError."""
    log, shared = (path.with_name(f"{path.name}-{end}") for end in ("wal", "shm"))
    with contextlib.ExitStack() as stack:
        place = f"{path.absolute().as_uri()}?mode=ro"
        if not shared.exists():
            place += "&immutable=1"
        if log.exists() and not shared.exists():
            with contextlib.suppress(OSError):
                copy = Path(stack.enter_context(scratch_folder(path.parent)), path.name)
                shutil.copyfile(path, copy)
                shutil.copyfile(log, copy.with_name(log.name))
                place = copy.as_uri()
        yield stack.enter_context(contextlib.closing(sqlite3.connect(place, uri=True)))


def fault(code: int, text: str) -> sqlite3.DatabaseError:
    """An error as SQLite would raise it."""
    made = sqlite3.DatabaseError(text)
    made.sqlite_errorcode = code
    return made


def _written(connection: sqlite3.Connection) -> Written | None:
    """Raises sqlite3.Error."""
    found = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    number = str(found.get("format", ""))
    return _stated({**found, "format": int(number) if number.isdecimal() else None})


def read_stamp(path: Path) -> Written | None:
    """What a JSON file says of its format; None where there is none, or it makes no sense. Raises
    OSError: it may say anything."""
    if not path.is_file():  # a pipe would hold us up
        return None
    with path.open("rb") as file:
        raw = file.read(_LONGEST)
    with contextlib.suppress(ValueError, RecursionError):
        content = json.loads(raw)
        return _stated(content) if isinstance(content, dict) else None
    return None


def _stated(content: Mapping[str, object]) -> Written | None:
    number, version = content.get("format"), content.get("written_by")
    if type(number) is not int or number < 1:  # True is an int, too
        return None
    return number, version if isinstance(version, str) else ""


def refuse_newer(path: Path, found: Written | None, known: int, version: str) -> None:
    """Raises FormatNewer if what was found is beyond ``known``; ``version`` is our own."""
    if found is None or found[0] <= known:
        return
    number, writer = found
    needs = f"≥ {writer}" if _VERSION.fullmatch(writer) else f"> {version or '?'}"
    raise FormatNewer(str(path), number, known, needs)
