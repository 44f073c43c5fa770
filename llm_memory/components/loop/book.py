"""Costs, pauses, who came when, how memories served: small facts in ``state/loop.sqlite``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime

from ...models.loop import Spent
from ...ports.index import Key
from ...ports.loop import Evidence
from .file import SqliteLoopFile, sound


class SqliteLoopBook:
    """Implements the ``LoopBook`` port."""

    def __init__(self, file: SqliteLoopFile) -> None:
        self._file = file

    def spend(self, day: date, *, tokens: int, failed: bool = False) -> None:
        self._file.write(
            "INSERT INTO spent VALUES (?, 1, ?, ?) ON CONFLICT (day) DO UPDATE SET"
            " calls = calls + 1, failed = failed + excluded.failed,"
            " tokens = tokens + excluded.tokens",
            [(day.isoformat(), int(failed), tokens)],
        )

    def spent(self, day: date) -> Spent:
        question = "SELECT calls, failed, tokens FROM spent WHERE day = ?"
        rows = self._file.rows(question, (day.isoformat(),))
        return Spent(day, *map(int, rows[0])) if rows else Spent(day)

    def pause(self, conversation: str, scope: str, *, at: datetime) -> None:
        row = (conversation, scope, at.isoformat())
        self._file.write("INSERT OR IGNORE INTO pause VALUES (?, ?, ?)", [row])

    def resume(self, conversation: str) -> bool:
        with self._file.transaction() as connection:
            gone = connection.execute(
                "DELETE FROM pause WHERE conversation = ?", (sound(conversation),)
            )
            return gone.rowcount > 0

    def paused(self) -> Mapping[str, datetime]:
        rows = self._file.rows("SELECT conversation, since FROM pause")
        return {conversation: datetime.fromisoformat(since) for conversation, since in rows}

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
