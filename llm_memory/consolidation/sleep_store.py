"""Keeps when the nightly consolidation ran and what it has compared, in ``state/loop.sqlite``.

Every method blocks, and raises StateUnavailable.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, fields
from datetime import date, datetime
from typing import Any, Final

from ..storage.loop_file import SqliteLoopFile
from ..storage.sqlite_file import sound
from .models import JournalDay, SleepReport

_TIMES: Final = ("begun", "ended")
_OF_A_MEMORY: Final = ("evidence", "sleep_compared")


class SqliteSleepStore:
    """Stores the runs, the texts that were compared, and the days that have a journal."""

    def __init__(self, file: SqliteLoopFile) -> None:
        self._file = file

    def begin(self, report: SleepReport) -> None:
        """Record that a run begins; it replaces one that did not end."""
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM sleep_run WHERE is_ended = 0")
            connection.execute(
                "INSERT INTO sleep_run (run_id, is_ended, report) VALUES (?, 0, ?)",
                (report.run_id, _written(report)),
            )

    def is_unfinished(self) -> bool:
        """Returns True if a run was begun and did not end."""
        return bool(self._file.rows("SELECT 1 FROM sleep_run WHERE is_ended = 0 LIMIT 1"))

    def last(self) -> SleepReport | None:
        """Returns the last run that ended."""
        rows = self._file.rows(
            "SELECT report FROM sleep_run WHERE is_ended = 1 ORDER BY place DESC LIMIT 1"
        )
        return _read(rows[0][0]) if rows else None

    def end(self, report: SleepReport) -> None:
        """Record that the run has ended, and delete earlier ones."""
        with self._file.transaction() as connection:
            connection.execute(
                "UPDATE sleep_run SET report = ?, is_ended = 1 WHERE run_id = ?",
                (_written(report), report.run_id),
            )
            connection.execute("DELETE FROM sleep_run WHERE run_id <> ?", (report.run_id,))

    def compared(self, scope: str) -> Mapping[str, str]:
        """Returns by memory id the digests of texts that were compared with their neighbours."""
        rows = self._file.rows(
            "SELECT memory_id, digest FROM sleep_compared WHERE scope = ?", (scope,)
        )
        return {str(name): str(digest) for name, digest in rows}

    def note_compared(self, scope: str, digests: Mapping[str, str], gone: Collection[str]) -> None:
        """Record these, and delete those that are gone."""
        with self._file.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO sleep_compared VALUES (?, ?, ?)",
                [(scope, sound(name), digest) for name, digest in digests.items()],
            )
            connection.executemany(
                "DELETE FROM sleep_compared WHERE scope = ? AND memory_id = ?",
                [(scope, name) for name in gone],
            )

    def forget(self, memory_ids: Iterable[str]) -> None:
        """Delete the digests and counts of purged memories."""
        names = list(memory_ids)
        with self._file.transaction() as connection:
            for table in _OF_A_MEMORY:
                connection.executemany(
                    f"DELETE FROM {table} WHERE memory_id = ?",  # noqa: S608  (names of ours)
                    [(name,) for name in names],
                )

    def journal_day(self, scope: str, day: date) -> JournalDay:
        """Returns the state of a day's journal."""
        rows = self._file.rows(
            "SELECT nights, is_written FROM sleep_day WHERE scope = ? AND day = ?",
            (scope, day.isoformat()),
        )
        if not rows:
            return JournalDay(scope, day)
        return JournalDay(scope, day, int(rows[0][0]), bool(rows[0][1]))

    def first_journal_day(self, scope: str) -> date | None:
        """Returns the earliest day of which the state is recorded."""
        ((day,),) = self._file.rows("SELECT MIN(day) FROM sleep_day WHERE scope = ?", (scope,))
        return None if day is None else date.fromisoformat(day)

    def note_journal(self, journal: JournalDay) -> None:
        """Record the state of a day's journal."""
        self._file.write(
            "INSERT OR REPLACE INTO sleep_day VALUES (?, ?, ?, ?)",
            [(journal.scope, journal.day.isoformat(), journal.nights, int(journal.written))],
        )

    def drop_journals(self, before: date) -> None:
        """Delete the states of days before this one."""
        self._file.write("DELETE FROM sleep_day WHERE day < ?", [(before.isoformat(),)])


def _written(report: SleepReport) -> str:
    return json.dumps(asdict(report), ensure_ascii=False, default=datetime.isoformat)


def _read(text: str) -> SleepReport:
    """Fields of another version are ignored."""
    found: dict[str, Any] = json.loads(text)
    known = {field.name: found[field.name] for field in fields(SleepReport) if field.name in found}
    for name in _TIMES:
        if known.get(name):
            known[name] = datetime.fromisoformat(known[name])
    known["errors"] = tuple(known.get("errors", ()))
    return SleepReport(**known)
