"""What walks over other people's records remember, in ``state/migration.sqlite``.

The file is made by the first walk that has something to keep, so most installations have none.
``before`` holds words, and so the scope that they belong to.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import astuple
from datetime import datetime
from itertools import batched
from pathlib import Path
from typing import Any, Final

from ..errors import EngineClosed, StateUnavailable
from ..models.key import Key
from ..models.migration import Added, Before, DeadLetter, Fate, Job, JobState, Outcome, Tally
from ..storage.files import make_folder
from ..storage.formats.migration_schema import make_tables
from ..storage.sqlite import connect_checked, is_broken, set_aside
from ..storage.transactions import all_or_nothing

_AT_ONCE: Final = 500
"""Values in one question: SQLite takes some thousand at most."""
_TALLY: Final = """
SELECT COUNT(*), TOTAL(patched = 1), TOTAL(patched = 0), TOTAL(fate = 'adopted'),
    TOTAL(fate = 'merged'), TOTAL(fate = 'quarantined'), TOTAL(fate = 'broken')
FROM outcome WHERE job = ?"""


class SqliteMigrationStore:
    """Implements the ``MigrationStore`` port. Safe to call from any thread, one call at a time."""

    WAIT_SECONDS = 5.0
    """For another's lock on the file."""

    def __init__(self, path: Path, *, version: str = "") -> None:
        """``version`` is the plugin's: it signs a new file."""
        self._path = path
        self._version = version
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._opened = False

    def open(self) -> bool:
        with self._lock, self._translated():
            self._opened = True
            if self._connection is not None or not self._path.is_file():
                return True
            try:
                self._connection = self._connect()
            except sqlite3.DatabaseError as error:
                if not is_broken(error):
                    raise  # locked, a full disk: the file itself is fine
                # What is lost is how far a walk was and how records were before: both stand in
                # the file that is set aside. A walk begun anew finds done what it did.
                set_aside(self._path)
                return False
        return True

    def _connect(self) -> sqlite3.Connection:
        make_folder(self._path.parent)
        return connect_checked(
            self._path,
            wait_seconds=self.WAIT_SECONDS,
            complete=lambda connection: make_tables(connection, self._version),
        )

    def jobs(self) -> tuple[Job, ...]:
        rows = self._rows("SELECT * FROM job ORDER BY begun, name")
        return tuple(
            Job(name, kind, source, batch, JobState(state), datetime.fromisoformat(begun), detail)
            for name, kind, source, batch, state, begun, detail in rows
        )

    def put_job(self, job: Job) -> None:
        row = (*astuple(job)[:4], job.state.value, job.begun.isoformat(), job.detail)
        self._write("INSERT OR REPLACE INTO job VALUES (?, ?, ?, ?, ?, ?, ?)", [row])

    def note_outcomes(self, job: str, outcomes: Sequence[Outcome]) -> None:
        self._write(
            "INSERT OR REPLACE INTO outcome VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (job, o.record_id, o.fate.value, o.patched, o.scope, o.memory_id, o.reason)
                for o in outcomes
            ],
        )

    def forget_outcomes(self, job: str, record_ids: Collection[str] | None = None) -> None:
        if record_ids is None:
            self._write("DELETE FROM outcome WHERE job = ?", [(job,)])
            return
        statement = "DELETE FROM outcome WHERE job = ? AND record_id = ?"
        self._write(statement, [(job, one) for one in record_ids])

    def ids_with_outcome(self, job: str) -> frozenset[str]:
        rows = self._rows("SELECT record_id FROM outcome WHERE job = ?", (job,))
        return frozenset(row[0] for row in rows)

    def tally(self, job: str) -> Tally:
        rows = self._rows(_TALLY, (job,))
        return Tally(*map(int, rows[0])) if rows else Tally()

    def dead_letters(self, job: str, limit: int) -> tuple[DeadLetter, ...]:
        rows = self._rows(
            "SELECT job, record_id, reason, scope FROM outcome"
            " WHERE job = ? AND fate IN (?, ?) ORDER BY record_id LIMIT ?",
            (job, Fate.BROKEN.value, Fate.QUARANTINED.value, limit),
        )
        return tuple(DeadLetter(*row) for row in rows)

    def keep_before(self, job: str, before: Sequence[Before]) -> None:
        self._write(
            "INSERT OR REPLACE INTO before VALUES (?, ?, ?, ?)",
            [(job, one.record_id, one.scope, one.metadata) for one in before],
        )

    def before(self, job: str, record_ids: Collection[str] | None = None) -> tuple[Before, ...]:
        chosen = "SELECT record_id, scope, metadata FROM before WHERE job = ?"
        return tuple(Before(*row) for row in self._named(chosen, "record_id", job, record_ids))

    def drop_before(self, job: str, record_ids: Collection[str]) -> None:
        statement = "DELETE FROM before WHERE job = ? AND record_id = ?"
        self._write(statement, [(job, one) for one in record_ids])

    def keep_added(self, batch: str, added: Sequence[Added]) -> None:
        self._write(
            "INSERT OR IGNORE INTO added VALUES (?, ?, ?, ?, ?)",
            [(batch, one.scope, one.memory_id, one.digest, one.record_id) for one in added],
        )

    def added(self, batch: str, memory_ids: Collection[str] | None = None) -> tuple[Added, ...]:
        chosen = "SELECT scope, memory_id, digest, record_id FROM added WHERE batch = ?"
        rows = self._named(chosen, "memory_id", batch, memory_ids)
        return tuple(Added(*row) for row in rows)

    def mark_taken_back(self, batch: str, keys: Collection[Key]) -> None:
        self._write(
            "UPDATE added SET digest = '' WHERE batch = ? AND scope = ? AND memory_id = ?",
            [(batch, key.scope, key.memory_id) for key in keys],
        )

    def renew_added(self, batch: str, added: Sequence[Added]) -> None:
        self._write(
            "UPDATE added SET digest = ? WHERE batch = ? AND scope = ? AND memory_id = ?",
            [(one.digest, batch, one.scope, one.memory_id) for one in added],
        )

    def close(self) -> None:
        with self._lock:
            self._opened = False
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _rows(self, question: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Nothing, where nothing was ever kept."""
        with self._lock, self._translated():
            self._check()
            if self._connection is None:
                return []
            return self._connection.execute(question, tuple(values)).fetchall()

    def _named(
        self, question: str, column: str, of: str, names: Collection[str] | None
    ) -> list[tuple[Any, ...]]:
        """All rows, or those whose column has one of the names."""
        if names is None:
            return self._rows(question, (of,))
        found: list[tuple[Any, ...]] = []
        for some in batched(names, _AT_ONCE):
            marks = ", ".join("?" * len(some))
            found += self._rows(f"{question} AND {column} IN ({marks})", (of, *some))
        return found

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        with self._lock, self._translated():
            self._check()
            if not rows:
                return
            if self._connection is None:
                self._connection = self._connect()
            with all_or_nothing(self._connection) as connection:
                connection.executemany(statement, [tuple(map(_sound, row)) for row in rows])

    def _check(self) -> None:
        if not self._opened:
            raise EngineClosed("the migration store is closed")

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeEncodeError) as error:
            cause = (isinstance(error, OSError) and error.strerror) or str(error)
            raise StateUnavailable(cause, str(self._path)) from error


def _sound(value: object) -> object:
    """Half a surrogate pair, as old chat programs left them, would refuse the whole batch."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value
