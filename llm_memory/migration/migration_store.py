"""What walks over other people's records remember, in ``state/migration.sqlite``.

The file is made by the first walk that has something to keep, so most installations have none.
``before`` holds words, and so the scope that they belong to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple
from datetime import datetime
from itertools import batched
from pathlib import Path
from typing import Any, Final

from ..models.migration import Added, Job, Outcome, Tally
from ..models.passages import Key
from ..models.scope import PUBLIC_NAME
from ..storage.formats.store_formats import MIGRATION
from ..storage.sqlite_file import SqliteFile

_AT_ONCE: Final = 500
"""Values in one question: SQLite takes some thousand at most."""
_TALLY: Final = """
SELECT COUNT(*), TOTAL(patched = 1), TOTAL(patched = 0), TOTAL(fate = 'adopted'),
    TOTAL(fate = 'merged'), TOTAL(fate = 'quarantined'), TOTAL(fate = 'broken')
FROM outcome WHERE job = ?"""


class SqliteMigrationStore(SqliteFile):
    """What must outlive a crash of a walk. Every method blocks and may raise StateUnavailable.

    Nothing is made on the disk before there is something to keep.
    What is lost with a broken file is how far a walk was and how records were before: both stand in
    the file that is set aside, and a walk begun anew finds done what it did.
    """

    def __init__(self, path: Path, *, version: str = "") -> None:
        """``version`` is the plugin's."""
        super().__init__(path, MIGRATION, version=version)
        self._opened = False

    def open(self) -> bool:
        self._opened = True
        if self._connection is not None or not self._path.is_file():
            return True
        return super().open()

    def jobs(self) -> tuple[Job, ...]:
        """Returns all jobs that ever were begun, the oldest first."""
        rows = self.rows("SELECT * FROM job ORDER BY begun, name")
        return tuple(
            Job(
                name,
                kind,
                source,
                batch,
                state,
                datetime.fromisoformat(begun),
                detail,
            )
            for name, kind, source, batch, state, begun, detail in rows
        )

    def put_job(self, job: Job) -> None:
        """Add a job, or replace the one of its name."""
        row = (*astuple(job)[:4], job.state, job.begun.isoformat(), job.detail)
        self.write("INSERT OR REPLACE INTO job VALUES (?, ?, ?, ?, ?, ?, ?)", [row])

    def note_outcomes(self, job: str, outcomes: Sequence[Outcome]) -> None:
        """Keep outcomes; of one record the last one counts."""
        self.write(
            "INSERT OR REPLACE INTO outcome VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (job, o.record_id, o.fate, o.patched, o.scope, o.memory_id, o.reason)
                for o in outcomes
            ],
        )

    def forget_outcomes(self, job: str, record_ids: Collection[str] | None = None) -> None:
        """Forget outcomes, of these records or of all, as if they had not been looked at."""
        if record_ids is None:
            self.write("DELETE FROM outcome WHERE job = ?", [(job,)])
            return
        statement = "DELETE FROM outcome WHERE job = ? AND record_id = ?"
        self.write(statement, [(job, one) for one in record_ids])

    def ids_with_outcome(self, job: str) -> frozenset[str]:
        """Returns the ids of the records that have an outcome."""
        rows = self.rows("SELECT record_id FROM outcome WHERE job = ?", (job,))
        return frozenset(row[0] for row in rows)

    def tally(self, job: str) -> Tally:
        """Returns what became of a job's records, in numbers."""
        rows = self.rows(_TALLY, (job,))
        return Tally(*map(int, rows[0])) if rows else Tally()

    def dead_letters(self, job: str, limit: int) -> list[Outcome]:
        """Returns the broken and the quarantined records, at most ``limit``."""
        rows = self.rows(
            "SELECT record_id, fate, scope, reason FROM outcome"
            " WHERE job = ? AND fate IN (?, ?) ORDER BY record_id LIMIT ?",
            (job, "broken", "quarantined", limit),
        )
        return [
            Outcome(record_id, fate, scope=scope, reason=reason)
            for record_id, fate, scope, reason in rows
        ]

    def keep_before(self, job: str, before: Mapping[str, str]) -> None:
        """Note the metadata of records of no scope as JSON text, ``null`` where one had none. Of
        one record the last note counts."""
        statement = "INSERT OR REPLACE INTO before VALUES (?, ?, ?, ?)"
        self.write(statement, [(job, one, PUBLIC_NAME, text) for one, text in before.items()])

    def before(self, job: str, record_ids: Collection[str] | None = None) -> dict[str, str]:
        """Returns the metadata of records before they were touched: of those named, or of all."""
        chosen = "SELECT record_id, metadata FROM before WHERE job = ?"
        return dict(self._named(chosen, "record_id", job, record_ids))

    def drop_before(self, job: str, record_ids: Collection[str]) -> None:
        """Drop the notes of records that are again as they were."""
        statement = "DELETE FROM before WHERE job = ? AND record_id = ?"
        self.write(statement, [(job, one) for one in record_ids])

    def keep_added(self, batch: str, added: Sequence[Added]) -> None:
        """Note what is about to enter the vault; an older note of the same memory is kept."""
        self.write(
            "INSERT OR IGNORE INTO added VALUES (?, ?, ?, ?, ?)",
            [(batch, one.scope, one.memory_id, one.digest, one.record_id) for one in added],
        )

    def added(self, batch: str, memory_ids: Collection[str] | None = None) -> tuple[Added, ...]:
        """Returns what a batch brought into the vault: of the memories named, or all."""
        chosen = "SELECT scope, memory_id, digest, record_id FROM added WHERE batch = ?"
        rows = self._named(chosen, "memory_id", batch, memory_ids)
        return tuple(Added(*row) for row in rows)

    def mark_taken_back(self, batch: str, keys: Collection[Key]) -> None:
        """Note that these are in the archive: ``added`` has an empty digest for them."""
        self.write(
            "UPDATE added SET digest = '' WHERE batch = ? AND scope = ? AND memory_id = ?",
            [(batch, key.scope, key.memory_id) for key in keys],
        )

    def renew_added(self, batch: str, added: Sequence[Added]) -> None:
        """Note the digests of memories that were noted before."""
        self.write(
            "UPDATE added SET digest = ? WHERE batch = ? AND scope = ? AND memory_id = ?",
            [(one.digest, batch, one.scope, one.memory_id) for one in added],
        )

    def forget(self, memory_ids: Collection[str]) -> None:
        """Take the ids of purged memories out of the file and its log: nothing can be taken back
        of them."""
        self.open()
        found = {row[0] for row in self.rows("SELECT memory_id FROM added")}
        found |= {row[0] for row in self.rows("SELECT memory_id FROM outcome")}
        if gone := [(name,) for name in memory_ids if name in found]:
            self.write("DELETE FROM added WHERE memory_id = ?", gone)
            self.write("DELETE FROM outcome WHERE record_id LIKE '%/' || ?", gone)
            self.write("UPDATE outcome SET memory_id = '' WHERE memory_id = ?", gone)
        if found:
            self.checkpoint_wal()

    def close(self) -> None:
        """Close the file. Idempotent."""
        with self._lock:
            self._opened = False
            super().close()

    def rows(self, question: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Returns no row where nothing was ever kept: there is no file then."""
        with self._lock:
            if self._opened and self._connection is None:
                return []
            return super().rows(question, values)

    def _named(
        self, question: str, column: str, of: str, names: Collection[str] | None
    ) -> list[tuple[Any, ...]]:
        """Returns all rows, or those whose column has one of the names."""
        if names is None:
            return self.rows(question, (of,))
        found: list[tuple[Any, ...]] = []
        for some in batched(names, _AT_ONCE):
            marks = ", ".join("?" * len(some))
            found += self.rows(f"{question} AND {column} IN ({marks})", (of, *some))
        return found

    def write(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        kept = list(rows)
        with self._lock:
            if self._opened and not kept:
                return
            if self._opened and self._connection is None:
                super().open()
            super().write(statement, kept)
