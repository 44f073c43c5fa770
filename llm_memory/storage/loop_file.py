"""``loop.sqlite``, the file that the memory loop's stores share, and its small facts: costs, who
came when, how memories served.

Every table that holds words, or says what was done to a memory, carries the scope. Every method
blocks, and raises StateUnavailable.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Final, NamedTuple

from ..models.loop import Share, Spent
from ..models.passages import Key
from .formats.schema import Schema, tables
from .sqlite_file import SqliteFile, sound

LOOP: Final = Schema(6, tables("loop"), older=("turn", "batch", "share"))
_KEPT_DAYS: Final = 7
"""Shares of so many days are kept, today included."""


class SqliteLoopFile(SqliteFile):
    """The one connection to it. Unread turns are lost with a broken file."""

    SCHEMA = LOOP


class ForgetfulLoopFile(SqliteLoopFile):
    """Keeps nothing beyond ``close``, and touches no file: for an engine without conversations."""

    def open(self) -> bool:
        self.open_in_memory(empty=True)
        return True


class Evidence(NamedTuple):
    """How a memory served in its own scope since it was last weighed."""

    key: Key
    useful: int
    useless: int


class SqliteLoopFacts:
    """The facts, over the file that the loop's stores share."""

    def __init__(self, file: SqliteLoopFile) -> None:
        self._file = file

    def spend(
        self, day: date, *, tokens: int, failed: bool = False, group: str | None = None
    ) -> None:
        """Count one more call, and what it cost the group that it was made for, None for none."""
        with self._file.transaction() as connection:
            connection.execute(
                "INSERT INTO spent VALUES (?, 1, ?, ?) ON CONFLICT (day) DO UPDATE SET"
                " calls = calls + 1, failed = failed + excluded.failed,"
                " tokens = tokens + excluded.tokens",
                (day.isoformat(), int(failed), tokens),
            )
            if group is not None:
                add_share(connection, day, Share(group, tokens))

    def shares(self, day: date) -> list[Share]:
        """Returns what each group had of a day, the largest use first."""
        question = (
            "SELECT scope, tokens, dropped FROM share WHERE day = ? ORDER BY tokens DESC, scope"
        )
        rows = self._file.rows(question, (day.isoformat(),))
        return [Share(scope, int(tokens), int(dropped)) for scope, tokens, dropped in rows]

    def spent(self, day: date) -> Spent:
        """Returns all calls of a day."""
        question = "SELECT calls, failed, tokens FROM spent WHERE day = ?"
        rows = self._file.rows(question, (day.isoformat(),))
        return Spent(day, *map(int, rows[0])) if rows else Spent(day)

    def last_seen(self, conversation: str) -> datetime | None:
        """Returns when the last turn that was noted began, None for none."""
        question = "SELECT at FROM last_seen WHERE conversation = ?"
        rows = self._file.rows(question, (sound(conversation),))
        return datetime.fromisoformat(rows[0][0]) if rows else None

    def see(self, conversation: str, scope: str, *, at: datetime) -> None:
        """Note that a turn began."""
        change = "INSERT OR REPLACE INTO last_seen VALUES (?, ?, ?)"
        self._file.write(change, [(sound(conversation), scope, at.isoformat())])

    def count_evidence(self, useful: Sequence[Key], useless: Sequence[Key]) -> None:
        """Count one more of each, in the memories' own scope."""
        good, bad = Counter(useful), Counter(useless)
        self._file.write(
            "INSERT INTO evidence VALUES (?, ?, ?, ?) ON CONFLICT (scope, memory_id) DO UPDATE SET"
            " useful = useful + excluded.useful, useless = useless + excluded.useless",
            [(key.scope, key.memory_id, good[key], bad[key]) for key in {*good, *bad}],
        )

    def evidence(self, scope: str) -> list[Evidence]:
        """Returns what was counted for memories of a scope."""
        rows = self._file.rows(
            "SELECT memory_id, useful, useless FROM evidence WHERE scope = ? ORDER BY memory_id",
            (scope,),
        )
        return [Evidence(Key(scope, name), int(good), int(bad)) for name, good, bad in rows]

    def take_off(self, weighed: Sequence[Evidence]) -> None:
        """Delete what was weighed; what was counted meanwhile stays."""
        with self._file.transaction() as connection:
            connection.executemany(
                "UPDATE evidence SET useful = MAX(0, useful - ?), useless = MAX(0, useless - ?)"
                " WHERE scope = ? AND memory_id = ?",
                [(one.useful, one.useless, one.key.scope, one.key.memory_id) for one in weighed],
            )
            connection.execute("DELETE FROM evidence WHERE useful = 0 AND useless = 0")

    def forget_evidence(self, memory_ids: Iterable[str]) -> None:
        """Delete what was counted for purged memories."""
        rows = [(name,) for name in memory_ids]
        self._file.write("DELETE FROM evidence WHERE memory_id = ?", rows)

    def fact(self, name: str) -> str:
        """Returns what is kept under a name, empty for nothing. No person's words are kept here."""
        rows = self._file.rows("SELECT value FROM fact WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else ""

    def put_fact(self, name: str, value: str) -> None:
        self._file.write("INSERT OR REPLACE INTO fact VALUES (?, ?)", [(name, value)])


def add_share(connection: sqlite3.Connection, day: date, share: Share) -> None:
    """Add to a day inside the caller's transaction, and delete the rows of days long past."""
    first = day - timedelta(days=_KEPT_DAYS - 1)
    connection.execute("DELETE FROM share WHERE day < ?", (first.isoformat(),))
    connection.execute(
        "INSERT INTO share VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
        " tokens = tokens + excluded.tokens, dropped = dropped + excluded.dropped",
        (day.isoformat(), sound(share.group), share.tokens, share.dropped),
    )
