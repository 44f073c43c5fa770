"""Costs, pauses, who came when, how memories served: small facts in ``state/loop.sqlite``."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime

from ..models.key import Key
from ..models.loop import Party, Spent, Use
from ..storage.loop_file import SqliteLoopFile
from ..storage.loop_port import Evidence
from ..storage.sqlite_file import sound
from .share_rows import add_use

_GENERATION = "pause_generation"


class SqliteLoopFacts:
    """Implements the ``LoopBook`` port."""

    def __init__(self, file: SqliteLoopFile) -> None:
        self._file = file

    def spend(
        self,
        day: date,
        *,
        tokens: int,
        failed: bool = False,
        parts: Mapping[Party, int] | None = None,
    ) -> None:
        with self._file.transaction() as connection:
            connection.execute(
                "INSERT INTO spent VALUES (?, 1, ?, ?) ON CONFLICT (day) DO UPDATE SET"
                " calls = calls + 1, failed = failed + excluded.failed,"
                " tokens = tokens + excluded.tokens",
                (day.isoformat(), int(failed), tokens),
            )
            used = {party: Use(tokens=part) for party, part in (parts or {}).items()}
            add_use(connection, day, used)

    def used(self, day: date) -> Mapping[Party, Use]:
        rows = self._file.rows(
            "SELECT scope, speaker, is_known, tokens, gave_way FROM share WHERE day = ?",
            (day.isoformat(),),
        )
        return {
            Party(scope, speaker, bool(known)): Use(int(tokens), int(gave_way))
            for scope, speaker, known, tokens, gave_way in rows
        }

    def spent(self, day: date) -> Spent:
        question = "SELECT calls, failed, tokens FROM spent WHERE day = ?"
        rows = self._file.rows(question, (day.isoformat(),))
        return Spent(day, *map(int, rows[0])) if rows else Spent(day)

    def pause(self, conversation: str, scope: str, *, at: datetime) -> None:
        row = (sound(conversation), sound(scope), at.isoformat())
        with self._file.transaction() as connection:
            made = connection.execute("INSERT OR IGNORE INTO pause VALUES (?, ?, ?)", row)
            if made.rowcount > 0:
                _count_change(connection)

    def resume(self, conversation: str) -> bool:
        with self._file.transaction() as connection:
            gone = connection.execute(
                "DELETE FROM pause WHERE conversation = ?", (sound(conversation),)
            )
            if gone.rowcount > 0:
                _count_change(connection)
            return gone.rowcount > 0

    def paused(self) -> Mapping[str, datetime]:
        rows = self._file.rows("SELECT conversation, since FROM pause")
        return {conversation: datetime.fromisoformat(since) for conversation, since in rows}

    def paused_scopes(self) -> Mapping[str, str]:
        return dict(self._file.rows("SELECT conversation, scope FROM pause"))

    def pause_generation(self) -> int:
        stated = self.fact(_GENERATION)
        return int(stated) if stated.isdecimal() else 0

    def set_pause_generation(self, number: int) -> None:
        self.put_fact(_GENERATION, str(number))

    def see(self, conversation: str, scope: str, *, at: datetime) -> datetime | None:
        name = sound(conversation)
        with self._file.transaction() as connection:
            rows = connection.execute(
                "SELECT at FROM last_seen WHERE conversation = ?", (name,)
            ).fetchall()
            connection.execute(
                "INSERT OR REPLACE INTO last_seen VALUES (?, ?, ?)", (name, scope, at.isoformat())
            )
        return datetime.fromisoformat(rows[0][0]) if rows else None

    def count_evidence(self, useful: Sequence[Key], useless: Sequence[Key]) -> None:
        counted: dict[Key, tuple[int, int]] = {}
        good, bad = Counter(useful), Counter(useless)
        for key in {*good, *bad}:
            counted[key] = (good[key], bad[key])
        self._file.write(
            "INSERT INTO evidence VALUES (?, ?, ?, ?) ON CONFLICT (scope, memory_id) DO UPDATE SET"
            " useful = useful + excluded.useful, useless = useless + excluded.useless",
            [(key.scope, key.memory_id, *counts) for key, counts in counted.items()],
        )

    def evidence(self, scope: str) -> list[Evidence]:
        rows = self._file.rows(
            "SELECT memory_id, useful, useless FROM evidence WHERE scope = ? ORDER BY memory_id",
            (scope,),
        )
        return [Evidence(Key(scope, name), int(good), int(bad)) for name, good, bad in rows]

    def drop_evidence(self, weighed: Collection[Evidence]) -> None:
        with self._file.transaction() as connection:
            connection.executemany(
                "UPDATE evidence SET useful = MAX(0, useful - ?), useless = MAX(0, useless - ?)"
                " WHERE scope = ? AND memory_id = ?",
                [(one.useful, one.useless, one.key.scope, one.key.memory_id) for one in weighed],
            )
            connection.execute("DELETE FROM evidence WHERE useful = 0 AND useless = 0")

    def fact(self, name: str) -> str:
        rows = self._file.rows("SELECT value FROM fact WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else ""

    def put_fact(self, name: str, value: str) -> None:
        self._file.write("INSERT OR REPLACE INTO fact VALUES (?, ?)", [(name, value)])


def _count_change(connection: sqlite3.Connection) -> None:
    connection.execute(
        "INSERT INTO fact VALUES (?, '1') ON CONFLICT (name) DO UPDATE SET"
        " value = CAST(value AS INTEGER) + 1",
        (_GENERATION,),
    )
