"""Finished turns in ``state/loop.sqlite``: one waits, or is in a batch, answered or put aside.
Every method blocks, and raises StateUnavailable."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import date, datetime
from typing import Any, Final

from ..models.conversation import ConversationKind
from ..models.loop import Batch, QueueSize, Share, WaitingLine, group_of
from ..models.turns import QueuedTurn
from ..storage.loop_file import SqliteLoopFile, add_share
from ..storage.sqlite_file import sound
from ..text.normalising import derived_id

_NAMES: Final = tuple(field.name for field in fields(QueuedTurn))
_COLUMNS: Final = ", ".join(_NAMES)
_PUT: Final = f"INSERT OR IGNORE INTO turn ({_COLUMNS}) VALUES ({', '.join('?' * len(_NAMES))})"  # noqa: S608  (constants, as all below)
_NAMED: Final = "ticket_id IN (SELECT value FROM json_each(?))"
_OF_NAMED: Final = f"batch_id IN (SELECT batch_id FROM turn WHERE {_NAMED})"  # noqa: S608
_SPEAKER: Final = "CASE person WHEN '' THEN conversation ELSE person END"
_DROP_EMPTY: Final = "DELETE FROM batch WHERE batch_id NOT IN (SELECT batch_id FROM turn)"
_ASKED: Final = (
    "batch_id NOT IN (SELECT batch_id FROM batch) AND (? = 0 OR reply_text <> '' OR"  # noqa: S608
    f" conversation LIKE '%:{ConversationKind.PRIVATE}:%')"
)
"""Waits, and with 1 was said to the bot."""
_LINES: Final = f"""SELECT scope, conversation, persona, COUNT(*), MIN(observed_at),
    MAX(observed_at), MAX(map_key), SUM(LENGTH(user_text) + LENGTH(reply_text))
FROM turn WHERE {_ASKED} GROUP BY scope, conversation, persona ORDER BY MIN(place)"""  # noqa: S608
_WAITING: Final = f"""WITH mine AS (
    SELECT place AS at, ROW_NUMBER() OVER (PARTITION BY {_SPEAKER} ORDER BY place) AS nth
    FROM turn WHERE {_ASKED} AND scope = ? AND conversation = ? AND persona = ?)
SELECT {_COLUMNS} FROM mine JOIN turn ON place = at ORDER BY nth, at LIMIT ?"""  # noqa: S608


@dataclass(eq=False)
class SqliteTurnStore:
    """Keeps finished turns until they are read."""

    _file: SqliteLoopFile
    read_now: Sequence[QueuedTurn] = ()
    """What a model reads now: a full queue drops others."""

    def put(self, turn: QueuedTurn) -> None:
        """Queue a turn. On disk when it returns. One that is there already is ignored."""
        self._file.write(_PUT, [_row(turn)])

    def put_instead(self, turn: QueuedTurn, day: date) -> str | None:
        """Queue a turn in the place of the oldest of the loudest speaker of the largest group: that
        counts as dropped on the day. Returns its ticket; None where all are being read."""
        with self._file.transaction() as connection:
            # SQLite takes the ticket from the row of the MIN.
            held = connection.execute(
                "SELECT scope, COUNT(*), ticket_id, MIN(place) FROM turn WHERE batch_id NOT IN"  # noqa: S608
                f" (SELECT batch_id FROM batch WHERE error = '') AND NOT {_NAMED}"
                f" GROUP BY scope, {_SPEAKER}",
                (_all([one.ticket_id for one in self.read_now]),),
            ).fetchall()
            if not held:
                return None
            groups = Counter([group_of(turn.scope)])
            for scope, count, *_ in held:
                groups[group_of(scope)] += count
            largest = max(held, key=lambda one: (groups[group_of(one[0])], one[1], one[0]))
            scope, _, ticket, _ = largest
            connection.execute("DELETE FROM turn WHERE ticket_id = ?", (ticket,))
            connection.execute(_DROP_EMPTY)
            add_share(connection, day, Share(group_of(scope), dropped=1))
            connection.execute(_PUT, _row(turn))
        return str(ticket)

    def turns(self, ticket_ids: Collection[str]) -> list[QueuedTurn]:
        """Returns those that are still here, the oldest first."""
        return self._turns(_NAMED, _all(ticket_ids))

    def lines(self, *, addressed: bool = False) -> list[WaitingLine]:
        """Returns what waits, the oldest line first. ``addressed``: as if there were only turns in
        private, or answered by the bot."""
        return [
            WaitingLine(scope, where, who, count, oldest, newest, key, chars)
            for (scope, where, who, count, *times, key, chars) in self._file.rows(
                _LINES, (int(addressed),)
            )
            for oldest, newest in [map(datetime.fromisoformat, times)]
        ]

    def waiting(
        self, line: WaitingLine, limit: int, *, addressed: bool = False
    ) -> list[QueuedTurn]:
        """Returns the first of each speaker of a line, then the second of each, and so on."""
        return list(map(_turn, self._file.rows(_WAITING, (int(addressed), *line.name, limit))))

    def newest(self, limit: int) -> list[QueuedTurn]:
        """Returns the newest turns, of those put aside, too."""
        return self._turns("place IN (SELECT place FROM turn ORDER BY place DESC LIMIT ?)", limit)

    def keep(self, turns: Sequence[QueuedTurn], *, reply: str = "", error: str = "") -> bool:
        """Keep the answer about turns of one conversation, or put them aside for an error. Returns
        False, and does nothing, where they are no longer there as they were."""
        tickets, first = [turn.ticket_id for turn in turns], turns[0]
        batch = Batch(derived_id("b", *tickets), first.scope, first.conversation, reply, error)
        with self._file.transaction() as connection:
            if self.turns(tickets) != [*turns]:
                return False
            connection.execute("INSERT OR REPLACE INTO batch VALUES (?, ?, ?, ?, ?)", _row(batch))
            connection.execute(
                f"UPDATE turn SET batch_id = ? WHERE {_NAMED}",  # noqa: S608
                (batch.batch_id, _all(tickets)),
            )
        return True

    def release(self, *, dead: bool) -> int:
        """Have turns wait again: those whose answer is not applied yet, or those put aside. Returns
        how many batches there were."""
        with self._file.transaction() as connection:
            return connection.execute("DELETE FROM batch WHERE (error <> '') = ?", (dead,)).rowcount

    def batches(self) -> list[Batch]:
        """Returns all batches, the oldest first."""
        return [Batch(*row) for row in self._file.rows("SELECT * FROM batch ORDER BY rowid")]

    def of_batch(self, batch_id: str) -> list[QueuedTurn]:
        """Returns the turns of a batch, the oldest first."""
        return self._turns("batch_id = ?", batch_id)

    def of_scope(self, scope: str) -> list[QueuedTurn]:
        """Returns every turn of a scope, in a batch or not."""
        return self._turns("scope = ?", scope)

    def _turns(self, which: str, *values: object) -> list[QueuedTurn]:
        question = f"SELECT {_COLUMNS} FROM turn WHERE {which} ORDER BY place"  # noqa: S608
        return list(map(_turn, self._file.rows(question, values)))

    def reword(self, turns: Sequence[QueuedTurn]) -> None:
        """Put these texts and ids in the place of what the turns have; unknown ones are ignored."""
        changed = ((t.user_text, t.reply_text, t.recalled, t.stored, t.ticket_id) for t in turns)
        self._file.write(
            "UPDATE turn SET user_text = ?, reply_text = ?, recalled = ?, stored = ?"
            " WHERE ticket_id = ?",
            [tuple(map(_stored, row)) for row in changed],
        )

    def scopes(self) -> frozenset[str]:
        """Returns the scopes of all turns."""
        return frozenset(str(row[0]) for row in self._file.rows("SELECT DISTINCT scope FROM turn"))

    def tickets(self, scope: str, conversations: Collection[str]) -> list[str]:
        """Returns the turns of a scope from these conversations, by their id or the owner's map."""
        there = self.of_scope(scope)
        return [t.ticket_id for t in there if {t.conversation, t.map_key} & {*conversations}]

    def rescope(self, ticket_ids: Collection[str], source: str, target: str) -> list[str]:
        """Have these turns, and their batches, belong to another scope. Returns those that changed:
        one that is read together with one that is not named stays. All at once, or nothing."""
        named = _all(ticket_ids)
        with self._file.transaction() as connection:
            moved = connection.execute(
                f"SELECT ticket_id FROM turn WHERE {_NAMED} AND scope = ? AND batch_id NOT IN"  # noqa: S608
                f" (SELECT batch_id FROM turn JOIN batch USING (batch_id) WHERE NOT {_NAMED})"
                " ORDER BY place",
                (named, source, named),
            ).fetchall()
            values = (target, _all([ticket for (ticket,) in moved]))
            connection.execute(f"UPDATE turn SET scope = ? WHERE {_NAMED}", values)  # noqa: S608
            connection.execute(f"UPDATE batch SET scope = ? WHERE {_OF_NAMED}", values)  # noqa: S608
        return [str(ticket) for (ticket,) in moved]

    def drop(self, ticket_ids: Collection[str]) -> None:
        """Delete turns, all at once, with batches without turns and answers about more turns than
        are left."""
        gone = (_all(ticket_ids),)
        with self._file.transaction() as connection:
            connection.execute(f"DELETE FROM batch WHERE error = '' AND {_OF_NAMED}", gone)  # noqa: S608
            connection.execute(f"DELETE FROM turn WHERE {_NAMED}", gone)  # noqa: S608
            connection.execute(_DROP_EMPTY)

    def count(self) -> int:
        """Returns how many there are."""
        return int(self._file.rows("SELECT COUNT(*) FROM turn")[0][0])

    def size(self, conversation: str | None = None) -> QueueSize:
        """Returns how many there are, or of a conversation, by how far they are."""
        ((waiting, dead),) = self._file.rows(
            "SELECT TOTAL(b.batch_id IS NULL), TOTAL(b.batch_id IS NOT NULL) FROM turn"
            " LEFT JOIN batch b ON b.batch_id = turn.batch_id AND b.error <> ''"
            " WHERE ? IS NULL OR turn.conversation = ?",
            (conversation, conversation),
        )
        return QueueSize(int(waiting), int(dead))


def _all(ids: Collection[str]) -> str:
    return json.dumps([*ids])  # for _NAMED


def _row(one: QueuedTurn | Batch) -> tuple[object, ...]:
    return tuple(map(_stored, astuple(one)))


def _stored(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return sound(json.dumps(value) if isinstance(value, tuple) else value)


def _turn(row: Sequence[Any]) -> QueuedTurn:
    told = dict(zip(_NAMES, row, strict=True))
    told |= {name: tuple(json.loads(told[name])) for name in ("recalled", "stored")}
    told["observed_at"] = datetime.fromisoformat(told["observed_at"])
    return QueuedTurn(**{**told, "admin": bool(told["admin"])})
