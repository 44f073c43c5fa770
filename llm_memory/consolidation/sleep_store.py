"""Keeps what the nightly consolidation has compared and which days have a journal, in
``state/loop.sqlite``.

Every method blocks, and raises StateUnavailable.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

from ..storage.loop_file import SqliteLoopFile
from ..storage.sqlite_file import sound

_OF_A_MEMORY: Final = ("evidence", "sleep_compared")


@dataclass(frozen=True, slots=True)
class JournalDay:
    """How far the journal of a scope's day is. ``nights``: so often it was tried in vain."""

    scope: str
    day: date
    nights: int = 0
    written: bool = False


class SqliteSleepStore:
    """Stores the texts that were compared, and the days that have a journal."""

    def __init__(self, file: SqliteLoopFile) -> None:
        self._file = file

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
