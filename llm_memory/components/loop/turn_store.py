"""Finished turns and the batches they are read in, in ``state/loop.sqlite``."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import date, datetime
from itertools import batched
from typing import Any, Final

from ...models.conversation import ConversationKind
from ...models.loop import Batch, BatchState, QueueSize, WaitingLine
from ...models.turns import QueuedTurn
from .file import SqliteLoopFile, sound

_AT_ONCE: Final = 500
"""Values in one question: SQLite takes some thousand at most."""
_TURN: Final = (
    "SELECT ticket_id, scope, conversation, persona, observed_at, person, who, user_text,"
    " reply_text, recalled, map_key, place FROM turn WHERE "
)
_BATCH: Final = (
    "SELECT batch_id, scope, conversation, persona, made_at, state, reply, attempts, error"
    " FROM batch ORDER BY place"
)
_ADDRESSED: Final = (
    f"(? = 0 OR reply_text <> '' OR conversation LIKE '%:{ConversationKind.PRIVATE}:%')"
)
"""Was said to the bot; with 0 any turn is as good."""
_LINES: Final = f"""
SELECT l.scope, l.conversation, l.persona, l.turns, oldest.observed_at, newest.observed_at,
    newest.map_key
FROM (SELECT scope, conversation, persona, COUNT(*) AS turns, MIN(place) AS first,
        MAX(place) AS last
    FROM turn WHERE batch_id = '' AND is_read = 0 AND {_ADDRESSED}
    GROUP BY scope, conversation, persona) l
JOIN turn oldest ON oldest.place = l.first JOIN turn newest ON newest.place = l.last
ORDER BY l.first"""  # noqa: S608  (a constant)
_SIZE: Final = """
WITH told AS (
    SELECT t.place, t.observed_at, t.is_read, b.batch_id IS NOT NULL AS is_dead
    FROM turn t LEFT JOIN batch b ON b.batch_id = t.batch_id AND b.state = ?)
SELECT TOTAL(NOT is_read AND NOT is_dead), TOTAL(is_read), TOTAL(NOT is_read AND is_dead),
    (SELECT observed_at FROM told WHERE NOT is_read AND NOT is_dead ORDER BY place LIMIT 1)
FROM told"""


class SqliteTurnStore:
    """Implements the ``TurnStore`` port."""

    def __init__(self, file: SqliteLoopFile) -> None:
        self._file = file

    def put(self, turn: QueuedTurn) -> None:
        self._file.write(
            "INSERT OR IGNORE INTO turn (ticket_id, scope, conversation, persona, observed_at,"
            " instant, day, person, who, user_text, reply_text, recalled, map_key)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    turn.ticket_id,
                    turn.scope,
                    turn.conversation,
                    turn.persona,
                    turn.observed_at.isoformat(),
                    turn.observed_at.timestamp(),
                    turn.observed_at.date().isoformat(),
                    turn.person,
                    turn.who,
                    turn.user_text,
                    turn.reply_text,
                    json.dumps(turn.recalled),
                    turn.map_key,
                )
            ],
        )

    def turns(self, ticket_ids: Collection[str]) -> list[QueuedTurn]:
        found: list[tuple[Any, ...]] = []
        for some in batched(dict.fromkeys(ticket_ids), _AT_ONCE):
            named = f"ticket_id IN ({_marks(some)}) AND is_read = 0"
            found += self._file.rows(_TURN + named, some)
        return [_turn(row) for row in sorted(found, key=lambda row: int(row[-1]))]

    def lines(self, *, addressed: bool = False) -> list[WaitingLine]:
        rows = self._file.rows(_LINES, (int(addressed),))
        return [
            WaitingLine(
                scope,
                conversation,
                persona,
                int(count),
                datetime.fromisoformat(oldest),
                datetime.fromisoformat(newest),
                map_key,
            )
            for scope, conversation, persona, count, oldest, newest, map_key in rows
        ]

    def waiting(
        self, line: WaitingLine, limit: int, *, addressed: bool = False
    ) -> list[QueuedTurn]:
        rows = self._file.rows(
            _TURN + "batch_id = '' AND is_read = 0 AND scope = ? AND conversation = ?"
            f" AND persona = ? AND {_ADDRESSED} ORDER BY place LIMIT ?",
            (line.scope, line.conversation, line.persona, int(addressed), limit),
        )
        return [_turn(row) for row in rows]

    def make_batch(self, batch: Batch, ticket_ids: Collection[str]) -> None:
        with self._file.transaction() as connection:
            connection.execute(
                "INSERT INTO batch (batch_id, scope, conversation, persona, made_at, state, reply,"
                " attempts, error) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                _batch_row(batch),
            )
            # Whatever the caller says, a batch holds turns of its own scope alone.
            connection.executemany(
                "UPDATE turn SET batch_id = ? WHERE ticket_id = ? AND batch_id = ''"
                " AND is_read = 0 AND scope = ?",
                [(batch.batch_id, ticket_id, batch.scope) for ticket_id in ticket_ids],
            )

    def put_batch(self, batch: Batch) -> None:
        batch_id, *_, state, reply, attempts, error = _batch_row(batch)
        self._file.write(
            "UPDATE batch SET state = ?, reply = ?, attempts = ?, error = ? WHERE batch_id = ?",
            [(state, reply, attempts, error, batch_id)],
        )

    def batches(self) -> list[Batch]:
        return [_batch(row) for row in self._file.rows(_BATCH)]

    def of_batch(self, batch_id: str) -> list[QueuedTurn]:
        rows = self._file.rows(_TURN + "batch_id = ? ORDER BY place", (batch_id,))
        return [_turn(row) for row in rows]

    def settle(self, ticket_ids: Collection[str], *, keep: bool) -> None:
        done = (
            "UPDATE turn SET is_read = 1, batch_id = '' WHERE ticket_id = ?"
            if keep
            else "DELETE FROM turn WHERE ticket_id = ?"
        )
        with self._file.transaction() as connection:
            connection.executemany(done, [(ticket_id,) for ticket_id in ticket_ids])
            connection.execute(
                "DELETE FROM batch WHERE NOT EXISTS"
                " (SELECT 1 FROM turn WHERE turn.batch_id = batch.batch_id)"
            )

    def days(self, before: datetime) -> list[tuple[str, date]]:
        rows = self._file.rows(
            "SELECT DISTINCT scope, day FROM turn WHERE is_read = 1 AND instant < ?"
            " ORDER BY day, scope",
            (before.timestamp(),),
        )
        return [(scope, date.fromisoformat(day)) for scope, day in rows]

    def of_day(self, scope: str, day: date) -> list[QueuedTurn]:
        rows = self._file.rows(
            _TURN + "is_read = 1 AND scope = ? AND day = ? ORDER BY place",
            (scope, day.isoformat()),
        )
        return [_turn(row) for row in rows]

    def of_scope(self, scope: str) -> list[QueuedTurn]:
        return [_turn(row) for row in self._file.rows(_TURN + "scope = ? ORDER BY place", (scope,))]

    def reword(self, turns: Sequence[QueuedTurn]) -> None:
        self._file.write(
            "UPDATE turn SET user_text = ?, reply_text = ? WHERE ticket_id = ?",
            [(turn.user_text, turn.reply_text, turn.ticket_id) for turn in turns],
        )

    def drop(self, ticket_ids: Collection[str]) -> None:
        self.settle(ticket_ids, keep=False)

    def count(self) -> int:
        return int(self._file.rows("SELECT COUNT(*) FROM turn")[0][0])

    def size(self) -> QueueSize:
        ((waiting, read, dead, oldest),) = self._file.rows(_SIZE, (BatchState.DEAD.value,))
        moment = datetime.fromisoformat(oldest) if oldest else None
        return QueueSize(int(waiting), int(read), int(dead), moment)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _turn(row: tuple[Any, ...]) -> QueuedTurn:
    ticket_id, scope, conversation, persona, observed_at, *words, recalled, map_key, _ = row
    person, who, user_text, reply_text = words
    return QueuedTurn(
        ticket_id,
        scope,
        conversation,
        persona,
        datetime.fromisoformat(observed_at),
        person,
        who,
        user_text,
        reply_text,
        tuple(str(one) for one in json.loads(recalled)),
        map_key,
    )


def _batch(row: tuple[Any, ...]) -> Batch:
    batch_id, scope, conversation, persona, made_at, state, reply, attempts, error = row
    moment = datetime.fromisoformat(made_at)
    known = BatchState(state)
    return Batch(batch_id, scope, conversation, persona, moment, known, reply, int(attempts), error)


def _batch_row(batch: Batch) -> tuple[object, ...]:
    return tuple(
        sound(value)
        for value in (
            batch.batch_id,
            batch.scope,
            batch.conversation,
            batch.persona,
            batch.made_at.isoformat(),
            batch.state.value,
            batch.reply,
            batch.attempts,
            batch.error,
        )
    )
