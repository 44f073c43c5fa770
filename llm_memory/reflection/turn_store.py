"""Finished turns and the batches they are read in, in ``state/loop.sqlite``.

Every method blocks, and raises StateUnavailable.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from itertools import batched
from typing import Any, Final

from ..models.conversation import ConversationKind
from ..models.loop import Batch, Party, QueueSize, Share, WaitingLine
from ..models.scope import is_mapped_name
from ..models.turns import QueuedTurn
from ..storage.loop_facts import add_shares
from ..storage.loop_file import SqliteLoopFile
from ..storage.sqlite_file import sound

_AT_ONCE: Final = 500
"""Values in one question: SQLite takes some thousand at most."""
_TURN: Final = (
    "SELECT ticket_id, scope, conversation, persona, observed_at, person, who, user_text,"
    " reply_text, recalled, map_key, stored, history, is_admin, place FROM turn WHERE "
)
_PUT: Final = (
    "INSERT OR IGNORE INTO turn (ticket_id, scope, conversation, persona, observed_at, instant,"
    " day, person, who, user_text, reply_text, recalled, map_key, stored, history, is_admin)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_SPEAKER: Final = "CASE person WHEN '' THEN conversation ELSE person END"
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
    newest.map_key, l.last, l.chars, l.is_admin
FROM (SELECT scope, conversation, persona, is_admin, COUNT(*) AS turns, MIN(place) AS first,
        MAX(place) AS last, SUM(LENGTH(user_text) + LENGTH(reply_text)) AS chars
    FROM turn WHERE batch_id = '' AND is_read = 0 AND {_ADDRESSED}
    GROUP BY scope, conversation, persona, is_admin) l
JOIN turn oldest ON oldest.place = l.first JOIN turn newest ON newest.place = l.last
ORDER BY l.first"""  # noqa: S608  (a constant)
"""A row for an admin's turns of a line, and one for those of others."""
_WAITING: Final = f"""
WITH mine AS (
    SELECT place AS at, ROW_NUMBER() OVER (PARTITION BY {_SPEAKER} ORDER BY place) AS nth
    FROM turn WHERE batch_id = '' AND is_read = 0 AND scope = ? AND conversation = ?
        AND persona = ? AND {_ADDRESSED} AND is_admin >= ?)
{_TURN}place IN (SELECT at FROM mine ORDER BY nth, at LIMIT ?) ORDER BY place"""  # noqa: S608
_HELD: Final = f"""
SELECT scope, person, conversation, is_admin, COUNT(*) FROM turn
GROUP BY scope, {_SPEAKER}, is_admin"""  # noqa: S608  (a constant)
_LEAVES: Final = f"""
DELETE FROM turn WHERE place = (
    SELECT place FROM turn
    WHERE scope = ? AND {_SPEAKER} = ? AND is_admin BETWEEN ? AND ?
        AND batch_id NOT IN (SELECT batch_id FROM batch WHERE state <> ?)
    ORDER BY is_read, place LIMIT 1)"""  # noqa: S608  (a constant)
_UNREAD: Final = """
SELECT ticket_id, scope FROM turn
WHERE is_read = 0 AND batch_id NOT IN (SELECT batch_id FROM batch WHERE state = ?)
ORDER BY place DESC LIMIT ?"""
_SIZE: Final = """
WITH told AS (
    SELECT t.place, t.observed_at, t.is_read, b.batch_id IS NOT NULL AS is_dead
    FROM turn t LEFT JOIN batch b ON b.batch_id = t.batch_id AND b.state = ?)
SELECT TOTAL(NOT is_read AND NOT is_dead), TOTAL(NOT is_read AND is_dead),
    (SELECT observed_at FROM told WHERE NOT is_read AND NOT is_dead ORDER BY place LIMIT 1)
FROM told"""


class SqliteTurnStore:
    """Keeps finished turns until they are read."""

    def __init__(self, file: SqliteLoopFile) -> None:
        self._file = file

    def put(self, turn: QueuedTurn) -> None:
        """Queue a turn. On disk when it returns. One that is there already is ignored."""
        self._file.write(_PUT, [_turn_row(turn)])

    def put_instead(self, turn: QueuedTurn, party: Party, *, day: date) -> bool:
        """Queue a turn in the place of the party's oldest unread one, or else of its oldest, and
        count that among what was dropped that day: all at once. Returns False, and does nothing,
        where all of the party's turns are being read."""
        # In a mapped scope an admin's turns and those of others are of one party.
        mapped = is_mapped_name(party.scope)
        least, most = (0, 1) if mapped else (int(party.known), int(party.known))
        names = (sound(party.scope), sound(party.speaker))
        with self._file.transaction() as connection:
            left = connection.execute(_LEAVES, (*names, least, most, "dead"))
            if not left.rowcount:
                return False
            _drop_empty_batches(connection)
            add_shares(connection, day, [Share(party.group, dropped=1)])
            connection.execute(_PUT, [sound(value) for value in _turn_row(turn)])
        return True

    def held(self) -> Mapping[Party, int]:
        """Returns how many turns each party has."""
        rows = self._file.rows(_HELD)
        held: Counter[Party] = Counter()
        for scope, person, conversation, is_admin, count in rows:
            held[Party.of(scope, person, conversation, admin=bool(is_admin))] += int(count)
        return held

    def turns(self, ticket_ids: Collection[str]) -> list[QueuedTurn]:
        """Returns those still to be read, in a batch or not, in the order in which they came."""
        found: list[tuple[Any, ...]] = []
        for some in batched(dict.fromkeys(ticket_ids), _AT_ONCE):
            named = f"ticket_id IN ({_marks(some)}) AND is_read = 0"
            found += self._file.rows(_TURN + named, some)
        return [_turn(row) for row in sorted(found, key=lambda row: int(row[-1]))]

    def lines(self, *, addressed: bool = False) -> list[WaitingLine]:
        """Returns what waits and is in no batch yet, the oldest line first. ``addressed``: of turns
        that were said to the bot, in private or answered by it, as if there were no others."""
        found: dict[tuple[str, str, str], list[tuple[Any, ...]]] = {}
        for row in self._file.rows(_LINES, (int(addressed),)):
            found.setdefault(row[:3], []).append(row[3:])
        return [_line(name, rows) for name, rows in found.items()]

    def waiting(
        self,
        line: WaitingLine,
        limit: int,
        *,
        addressed: bool = False,
        admins: bool = False,
    ) -> list[QueuedTurn]:
        """Returns the first turns of a line, or of those in it that were said to the bot, or by
        admins: of each speaker as many as of any other, in the order in which they came."""
        rows = self._file.rows(_WAITING, (*line.name, int(addressed), int(admins), limit))
        return [_turn(row) for row in rows]

    def unread(self, limit: int) -> list[tuple[str, str]]:
        """Returns ticket and scope of the newest turns to be read, but for what was given up."""
        rows = self._file.rows(_UNREAD, ("dead", limit))
        return [(str(ticket), str(scope)) for ticket, scope in rows]

    def make_batch(self, batch: Batch, ticket_ids: Collection[str]) -> None:
        """Read these together from now on."""
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
        """Keep how a batch is doing now. An unknown one is ignored."""
        batch_id, *_, state, reply, attempts, error = _batch_row(batch)
        self._file.write(
            "UPDATE batch SET state = ?, reply = ?, attempts = ?, error = ? WHERE batch_id = ?",
            [(state, reply, attempts, error, batch_id)],
        )

    def batches(self) -> list[Batch]:
        """Returns all batches, the oldest first."""
        return [_batch(row) for row in self._file.rows(_BATCH)]

    def of_batch(self, batch_id: str) -> list[QueuedTurn]:
        """Returns the turns of a batch, in the order in which they came."""
        rows = self._file.rows(_TURN + "batch_id = ? ORDER BY place", (batch_id,))
        return [_turn(row) for row in rows]

    def of_scope(self, scope: str) -> list[QueuedTurn]:
        """Returns every turn of a scope, read or not, in a batch or not."""
        return [_turn(row) for row in self._file.rows(_TURN + "scope = ? ORDER BY place", (scope,))]

    def reword(self, turns: Sequence[QueuedTurn]) -> None:
        """Put these texts in the place of what was said and answered, and these ids in the place of
        what was recalled and stored. Unknown ones are ignored."""
        self._file.write(
            "UPDATE turn SET user_text = ?, reply_text = ?, recalled = ?, stored = ?"
            " WHERE ticket_id = ?",
            [
                (
                    turn.user_text,
                    turn.reply_text,
                    json.dumps(turn.recalled),
                    json.dumps(turn.stored),
                    turn.ticket_id,
                )
                for turn in turns
            ],
        )

    def scopes(self) -> frozenset[str]:
        """Returns the scopes of all turns, read or not."""
        return frozenset(str(row[0]) for row in self._file.rows("SELECT DISTINCT scope FROM turn"))

    def tickets(self, scope: str, conversations: Collection[str]) -> list[str]:
        """Returns the turns of a scope, read or not, that were said in one of the conversations: by
        their id, or by what the owner's map calls them by."""
        rows = self._file.rows(
            "SELECT ticket_id, conversation, map_key FROM turn WHERE scope = ? ORDER BY place",
            (scope,),
        )
        return [str(row[0]) for row in rows if row[1] in conversations or row[2] in conversations]

    def rescope(self, ticket_ids: Collection[str], source: str, target: str) -> list[str]:
        """Have these turns, and what they are read in, belong to another scope from now on.
        Returns those that changed: a turn that is read together with one that is not named
        stays. All at once, or nothing."""
        named = frozenset(ticket_ids)
        with self._file.transaction() as connection:
            rows = connection.execute(
                "SELECT ticket_id, batch_id FROM turn WHERE scope = ? ORDER BY place", (source,)
            ).fetchall()
            kept = {batch for ticket, batch in rows if batch and ticket not in named}
            moved = [(t, batch) for t, batch in rows if t in named and batch not in kept]
            connection.executemany(
                "UPDATE turn SET scope = ? WHERE ticket_id = ?",
                [(target, ticket) for ticket, _ in moved],
            )
            connection.executemany(
                "UPDATE batch SET scope = ? WHERE batch_id = ?",
                [(target, batch) for batch in {batch for _, batch in moved if batch}],
            )
        return [str(ticket) for ticket, _ in moved]

    def drop(self, ticket_ids: Collection[str]) -> None:
        """Delete turns: what they taught stands in the vault, or they were given up. Unknown ones
        are ignored. A batch without turns goes with them. All at once, or nothing."""
        with self._file.transaction() as connection:
            connection.executemany(
                "DELETE FROM turn WHERE ticket_id = ?", [(ticket_id,) for ticket_id in ticket_ids]
            )
            _drop_empty_batches(connection)

    def count(self) -> int:
        """Returns how many there are, read or not. Cheap: it is asked before each ``put``."""
        return int(self._file.rows("SELECT COUNT(*) FROM turn")[0][0])

    def size(self) -> QueueSize:
        """Returns how many there are, by how far they are."""
        ((waiting, dead, oldest),) = self._file.rows(_SIZE, ("dead",))
        moment = datetime.fromisoformat(oldest) if oldest else None
        return QueueSize(int(waiting), int(dead), moment)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _drop_empty_batches(connection: sqlite3.Connection) -> None:
    connection.execute(
        "DELETE FROM batch WHERE NOT EXISTS"
        " (SELECT 1 FROM turn WHERE turn.batch_id = batch.batch_id)"
    )


def _line(name: tuple[str, str, str], rows: Sequence[tuple[Any, ...]]) -> WaitingLine:
    """Of a row for an admin's turns, one for those of others, or both."""
    scope, conversation, persona = name
    groups = [Party.of(scope, "", conversation, admin=bool(row[-1])).group for row in rows]
    newest = max(rows, key=lambda row: int(row[4]))
    return WaitingLine(
        scope,
        conversation,
        persona,
        sum(int(count) for count, *_ in rows),
        datetime.fromisoformat(rows[0][1]),
        datetime.fromisoformat(newest[2]),
        newest[3],
        tuple(dict.fromkeys(groups)),
        sum(int(row[5]) for row in rows),
    )


def _turn_row(turn: QueuedTurn) -> tuple[object, ...]:
    return (
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
        json.dumps(turn.stored),
        turn.history,
        int(turn.admin),
    )


def _turn(row: tuple[Any, ...]) -> QueuedTurn:
    *columns, stored, history, is_admin, _ = row
    ticket_id, scope, conversation, persona, observed_at, *words, recalled, map_key = columns
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
        bool(is_admin),
        tuple(map(str, json.loads(stored))),
        history,
    )


def _batch(row: tuple[Any, ...]) -> Batch:
    batch_id, scope, conversation, persona, made_at, state, reply, attempts, error = row
    moment = datetime.fromisoformat(made_at)
    return Batch(batch_id, scope, conversation, persona, moment, state, reply, int(attempts), error)


def _batch_row(batch: Batch) -> tuple[object, ...]:
    return tuple(
        sound(value)
        for value in (
            batch.batch_id,
            batch.scope,
            batch.conversation,
            batch.persona,
            batch.made_at.isoformat(),
            batch.state,
            batch.reply,
            batch.attempts,
            batch.error,
        )
    )
