"""How far the nightly consolidation is, and what it has decided, in ``state/loop.sqlite``.

Every method blocks, and raises StateUnavailable.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import date, datetime
from typing import Any, Final

from ..storage.loop_facts import Evidence
from ..storage.loop_file import SqliteLoopFile
from ..storage.sqlite_file import sound
from .models import (
    ArchiveDecision,
    ArchiveReason,
    JournalDay,
    Postponed,
    SleepReport,
    SleepStep,
    StrengthChange,
)

_TIMES: Final = ("begun", "ended")
_OF_A_RUN: Final = ("sleep_step", "sleep_quota", "sleep_departure")
_OF_A_MEMORY: Final = ("evidence", "sleep_fade", "sleep_compared", "sleep_departure")


class SqliteSleepStore:
    """The runs, their steps and their decisions."""

    def __init__(self, file: SqliteLoopFile) -> None:
        self._file = file

    def begin(self, report: SleepReport) -> None:
        """Keep that a run begins."""
        self._file.write(
            "INSERT OR IGNORE INTO sleep_run (run_id, is_ended, report) VALUES (?, 0, ?)",
            [(report.run_id, _written(report))],
        )

    def unfinished(self) -> SleepReport | None:
        """Returns the run that was begun and not ended, as it stood after its last step."""
        return self._newest(is_ended=False)

    def last(self) -> SleepReport | None:
        """Returns the last run that was brought to its end."""
        return self._newest(is_ended=True)

    def _newest(self, *, is_ended: bool) -> SleepReport | None:
        rows = self._file.rows(
            "SELECT report FROM sleep_run WHERE is_ended = ? ORDER BY place DESC LIMIT 1",
            (int(is_ended),),
        )
        return _read(rows[0][0]) if rows else None

    def finish_step(self, report: SleepReport, step: SleepStep, scope: str) -> None:
        """Keep that a step is through in a scope, and that the run stands as the report says."""
        with self._file.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO sleep_step VALUES (?, ?, ?)",
                (report.run_id, step.value, scope),
            )
            connection.execute(
                "UPDATE sleep_run SET report = ? WHERE run_id = ?",
                (_written(report), report.run_id),
            )

    def finished(self, run_id: str) -> frozenset[tuple[SleepStep, str]]:
        """Returns the steps of a run that are through, with their scopes."""
        rows = self._file.rows("SELECT step, scope FROM sleep_step WHERE run_id = ?", (run_id,))
        return frozenset((SleepStep(step), scope) for step, scope in rows)

    def end(self, report: SleepReport) -> None:
        """Keep that the run is through, and delete what was kept for it, and earlier runs."""
        with self._file.transaction() as connection:
            connection.execute(
                "UPDATE sleep_run SET report = ?, is_ended = 1 WHERE run_id = ?",
                (_written(report), report.run_id),
            )
            connection.execute("DELETE FROM sleep_run WHERE run_id <> ?", (report.run_id,))
            for table in _OF_A_RUN:
                connection.execute(f"DELETE FROM {table}")  # noqa: S608  (names of ours)

    def plan(self, fades: Sequence[StrengthChange], weighed: Collection[Evidence]) -> None:
        """Keep what was decided and take off the evidence that it was decided by: both or
        neither."""
        with self._file.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO sleep_fade VALUES (?, ?, ?, ?, ?)",
                [(f.scope, f.memory_id, f.base, f.strength, int(f.weak)) for f in fades],
            )
            connection.executemany(
                "UPDATE evidence SET useful = MAX(0, useful - ?), useless = MAX(0, useless - ?)"
                " WHERE scope = ? AND memory_id = ?",
                [(one.useful, one.useless, one.key.scope, one.key.memory_id) for one in weighed],
            )
            connection.execute("DELETE FROM evidence WHERE useful = 0 AND useless = 0")

    def plans(self, scope: str) -> list[StrengthChange]:
        """Returns what was decided in a scope and is not carried out yet."""
        rows = self._file.rows(
            "SELECT memory_id, base, strength, weak FROM sleep_fade WHERE scope = ?"
            " ORDER BY memory_id",
            (scope,),
        )
        return [
            StrengthChange(scope, name, int(base), int(strength), bool(weak))
            for name, base, strength, weak in rows
        ]

    def drop_plans(self, scope: str, memory_ids: Collection[str]) -> None:
        """Delete what is carried out, or overtaken."""
        self._file.write(
            "DELETE FROM sleep_fade WHERE scope = ? AND memory_id = ?",
            [(scope, name) for name in memory_ids],
        )

    def quota(self, run_id: str, scope: str, most: int) -> int:
        """Returns how many entries of a scope may leave in a run: the first ``most`` holds."""
        with self._file.transaction() as connection:
            row = (run_id, scope, most)
            connection.execute("INSERT OR IGNORE INTO sleep_quota VALUES (?, ?, ?)", row)
            found = connection.execute(
                "SELECT most FROM sleep_quota WHERE run_id = ? AND scope = ?", (run_id, scope)
            )
            return int(found.fetchone()[0])

    def choose(self, run_id: str, departures: Sequence[ArchiveDecision]) -> None:
        """Have these leave in this run. What was chosen already stays as it was."""
        self._file.write(
            "INSERT OR IGNORE INTO sleep_departure"
            " (run_id, scope, memory_id, kind, merged_into, strength, is_done)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (run_id, d.scope, d.memory_id, d.kind.value, d.into, d.strength, int(d.done))
                for d in departures
            ],
        )

    def departures(self, run_id: str, scope: str) -> list[ArchiveDecision]:
        """Returns what was chosen in a run, in this order."""
        rows = self._file.rows(
            "SELECT memory_id, kind, merged_into, strength, is_done FROM sleep_departure"
            " WHERE run_id = ? AND scope = ? ORDER BY place",
            (run_id, scope),
        )
        return [
            ArchiveDecision(scope, name, ArchiveReason(kind), into, int(strength), bool(done))
            for name, kind, into, strength, done in rows
        ]

    def depart(self, run_id: str, scope: str, memory_ids: Collection[str]) -> None:
        """Keep that these have left, or stay after all."""
        self._file.write(
            "UPDATE sleep_departure SET is_done = 1"
            " WHERE run_id = ? AND scope = ? AND memory_id = ?",
            [(run_id, scope, name) for name in memory_ids],
        )

    def compared(self, scope: str) -> Mapping[str, str]:
        """Returns by id the digest of what was compared with its neighbours already."""
        rows = self._file.rows(
            "SELECT memory_id, digest FROM sleep_compared WHERE scope = ?", (scope,)
        )
        return {str(name): str(digest) for name, digest in rows}

    def note_compared(self, scope: str, digests: Mapping[str, str], gone: Collection[str]) -> None:
        """Keep these, and delete those that are gone."""
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
        """Delete what was decided, compared and counted of memories that were purged."""
        names = list(memory_ids)
        with self._file.transaction() as connection:
            for table in _OF_A_MEMORY:
                connection.executemany(
                    f"DELETE FROM {table} WHERE memory_id = ?",  # noqa: S608  (names of ours)
                    [(name,) for name in names],
                )
            connection.executemany(
                "DELETE FROM sleep_departure WHERE merged_into = ?", [(name,) for name in names]
            )

    def journal_day(self, scope: str, day: date) -> JournalDay:
        """Returns how far the journal of a day is."""
        rows = self._file.rows(
            "SELECT nights, is_written FROM sleep_day WHERE scope = ? AND day = ?",
            (scope, day.isoformat()),
        )
        if not rows:
            return JournalDay(scope, day)
        return JournalDay(scope, day, int(rows[0][0]), bool(rows[0][1]))

    def note_journal(self, journal: JournalDay) -> None:
        """Keep how far it is."""
        self._file.write(
            "INSERT OR REPLACE INTO sleep_day VALUES (?, ?, ?, ?)",
            [(journal.scope, journal.day.isoformat(), journal.nights, int(journal.written))],
        )

    def drop_journals(self, before: date) -> None:
        """Delete what is kept of days before this one."""
        self._file.write("DELETE FROM sleep_day WHERE day < ?", [(before.isoformat(),)])


def _written(report: SleepReport) -> str:
    return json.dumps(asdict(report), ensure_ascii=False, default=datetime.isoformat)


def _read(text: str) -> SleepReport:
    """What another version wrote beside it is passed over."""
    found: dict[str, Any] = json.loads(text)
    known = {field.name: found[field.name] for field in fields(SleepReport) if field.name in found}
    for name in _TIMES:
        if known.get(name):
            known[name] = datetime.fromisoformat(known[name])
    known["postponed"] = Postponed(known.get("postponed", ""))
    known["errors"] = tuple(known.get("errors", ()))
    return SleepReport(**known)
