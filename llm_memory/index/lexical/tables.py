"""The tables of ``lexical.sqlite``, and how records go into them and out of them."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Final

from ...errors import IndexUnavailable
from ...models.passages import Key
from ...runtime.cooperative import cooperative
from ..lexical_port import LexicalRecord
from .arrays import (
    BLOCK,
    MAX_LENGTH,
    NO_DOCUMENT,
    Counts,
    Rows,
    changed_postings,
    empty_frame,
    frame_rows,
)

FORMAT: Final = 1
IN_ONE_QUESTION: Final = 400
"""Values in a statement, well below the least limit that a build of SQLite has."""
SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS scope (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS session (
    scope INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL,
    PRIMARY KEY (scope, number), UNIQUE (scope, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS document (
    scope INTEGER NOT NULL, number INTEGER NOT NULL, place TEXT NOT NULL, id TEXT NOT NULL,
    hash TEXT NOT NULL, session INTEGER NOT NULL, at REAL NOT NULL, terms TEXT NOT NULL,
    PRIMARY KEY (scope, number), UNIQUE (scope, id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS in_order ON document (scope, session, at, number);
CREATE INDEX IF NOT EXISTS by_time ON document (scope, at);
CREATE TABLE IF NOT EXISTS posting (
    scope INTEGER NOT NULL, term TEXT NOT NULL, block INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (scope, term, block)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS frame (
    scope INTEGER NOT NULL, block INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (scope, block)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
"""Scope first in every key: nothing of another scope is looked at, let alone ranked."""
LOOK: Final = (
    "SELECT id, name FROM scope LIMIT 1",
    "SELECT scope, number, name FROM session LIMIT 1",
    "SELECT scope, number, place, id, hash, session, at, terms FROM document LIMIT 1",
    "SELECT scope, term, block, data FROM posting LIMIT 1",
    "SELECT scope, block, data FROM frame LIMIT 1",
    "SELECT name, value FROM meta LIMIT 1",
)
"""Wrong columns show here, not at the first question."""


@dataclass(frozen=True, slots=True)
class Words:
    """The tokens of a record."""

    text: Counter[str]
    context: Counter[str]

    @property
    def lengths(self) -> tuple[int, int]:
        """Tokens of the text, and of text and context."""
        text = self.text.total()
        return min(text, MAX_LENGTH), min(text + self.context.total(), MAX_LENGTH)

    def counts(self) -> Iterator[tuple[str, Counts]]:
        """Each token once."""
        for term in self.text.keys() | self.context.keys():
            yield term, (self.text[term], self.context[term])


class Edit:
    """One transaction's changes of one scope, gathered so that each blob is written once."""

    def __init__(self, connection: sqlite3.Connection, scope: int, name: str) -> None:
        self._connection = connection
        self._scope = scope
        self._name = name
        self._gone: dict[tuple[str, int], set[int]] = defaultdict(set)
        self._new: dict[tuple[str, int], dict[int, Counts]] = defaultdict(dict)
        self._frames: dict[int, Rows] = {}

    def remove(self, memory_id: str) -> None:
        """Take a document out, its words with it."""
        known = self._known(memory_id)
        if known is not None:
            number, session, at, terms = known
            self._unlink(number, session, at)
            self._forget_words(number, terms)
            self._connection.execute(
                "DELETE FROM document WHERE scope = ? AND number = ?", (self._scope, number)
            )

    def put(self, record: LexicalRecord, words: Words) -> None:
        """Add or replace. What is replaced keeps its number, and with it its place in a tie."""
        known = self._known(record.key.memory_id)
        if known is None:
            number = self._next_number()
        else:
            number, session, at, terms = known
            self._unlink(number, session, at)
            self._forget_words(number, terms)
        session = self._session(record.session)
        self._connection.execute(
            "INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._scope,
                number,
                self._name,
                record.key.memory_id,
                record.content_hash,
                session,
                record.at,
                " ".join(words.text.keys() | words.context.keys()),
            ),
        )
        block, offset = divmod(number, BLOCK)
        for term, counts in words.counts():
            self._new[term, block][offset] = counts
        text, total = words.lengths
        self._frame(block)[offset] = (text, total, session, NO_DOCUMENT)
        self._link(number, session, record.at)

    def _known(self, memory_id: str) -> tuple[int, int, float, str] | None:
        row: tuple[int, int, float, str] | None = self._connection.execute(
            "SELECT number, session, at, terms FROM document WHERE scope = ? AND id = ?",
            (self._scope, memory_id),
        ).fetchone()
        return row

    def _next_number(self) -> int:
        (last,) = self._connection.execute(
            "SELECT MAX(number) FROM document WHERE scope = ?", (self._scope,)
        ).fetchone()
        return 0 if last is None else int(last) + 1

    def _session(self, name: str) -> int:
        known = self._connection.execute(
            "SELECT number FROM session WHERE scope = ? AND name = ?", (self._scope, name)
        ).fetchone()
        if known is not None:
            return int(known[0])
        (last,) = self._connection.execute(
            "SELECT MAX(number) FROM session WHERE scope = ?", (self._scope,)
        ).fetchone()
        number = 0 if last is None else int(last) + 1
        self._connection.execute(
            "INSERT INTO session VALUES (?, ?, ?)", (self._scope, number, name)
        )
        return number

    def _forget_words(self, number: int, terms: str) -> None:
        block, offset = divmod(number, BLOCK)
        for term in terms.split():
            self._gone[term, block].add(offset)
            self._new[term, block].pop(offset, None)
        self._frame(block)[offset] = (0, 0, 0, NO_DOCUMENT)

    def _beside(self, number: int, session: int, at: float) -> tuple[int, int]:
        """The numbers before and after in the session, ``NO_DOCUMENT`` at an end."""
        where = (self._scope, session, at, number)
        before = self._connection.execute(
            "SELECT number FROM document WHERE scope = ? AND session = ?"
            " AND (at, number) < (?, ?) ORDER BY at DESC, number DESC LIMIT 1",
            where,
        ).fetchone()
        after = self._connection.execute(
            "SELECT number FROM document WHERE scope = ? AND session = ?"
            " AND (at, number) > (?, ?) ORDER BY at, number LIMIT 1",
            where,
        ).fetchone()
        return (
            NO_DOCUMENT if before is None else before[0],
            NO_DOCUMENT if after is None else after[0],
        )

    def _link(self, number: int, session: int, at: float) -> None:
        before, after = self._beside(number, session, at)
        self._follow(number, before)
        if after != NO_DOCUMENT:
            self._follow(after, number)

    def _unlink(self, number: int, session: int, at: float) -> None:
        before, after = self._beside(number, session, at)
        if after != NO_DOCUMENT:
            self._follow(after, before)

    def _follow(self, number: int, before: int) -> None:
        block, offset = divmod(number, BLOCK)
        self._frame(block)["previous"][offset] = before

    def _frame(self, block: int) -> Rows:
        if block not in self._frames:
            row = self._connection.execute(
                "SELECT data FROM frame WHERE scope = ? AND block = ?", (self._scope, block)
            ).fetchone()
            self._frames[block] = empty_frame() if row is None else frame_rows(row[0])
        return self._frames[block]

    def finish(self) -> None:
        """Write the blobs."""
        touched = list(self._gone.keys() | self._new.keys())
        for some in batched(touched, IN_ONE_QUESTION):
            blobs = self._blobs({term for term, _ in some})
            kept: list[tuple[int, str, int, bytes]] = []
            emptied: list[tuple[int, str, int, bytes]] = []
            for term, block in cooperative(some):
                gone = self._gone.get((term, block), set())
                new = self._new.get((term, block), {})
                data = changed_postings(blobs.get((term, block), b""), gone, new)
                (kept if data else emptied).append((self._scope, term, block, data))
            self._connection.executemany("INSERT OR REPLACE INTO posting VALUES (?, ?, ?, ?)", kept)
            self._connection.executemany(
                "DELETE FROM posting WHERE scope = ? AND term = ? AND block = ?",
                [row[:3] for row in emptied],
            )
        self._connection.executemany(
            "INSERT OR REPLACE INTO frame VALUES (?, ?, ?)",
            [(self._scope, block, rows.tobytes()) for block, rows in self._frames.items()],
        )

    def _blobs(self, terms: Collection[str]) -> Mapping[tuple[str, int], bytes]:
        blocks = {block for _, block in (*self._gone, *self._new)}
        rows = self._connection.execute(
            "SELECT term, block, data FROM posting WHERE scope = ? AND block BETWEEN ? AND ?"  # noqa: S608  (placeholders only)
            f" AND term IN ({','.join('?' * len(terms))})",
            (self._scope, min(blocks), max(blocks), *terms),
        )
        return {(term, block): data for term, block, data in rows}


def write(
    connection: sqlite3.Connection,
    records: Sequence[tuple[LexicalRecord, Words]],
    gone: Collection[Key],
) -> None:
    """In the caller's transaction."""
    names = {key.scope for key in gone} | {record.key.scope for record, _ in records}
    for name in names:
        edit = Edit(connection, scope_number(connection, name), name)
        for key in gone:
            if key.scope == name:
                edit.remove(key.memory_id)
        # Of equal keys in one call the last wins.
        last = {
            record.key: (record, words) for record, words in records if record.key.scope == name
        }
        for record, words in cooperative(last.values()):
            edit.put(record, words)
        edit.finish()


def scope_number(connection: sqlite3.Connection, name: str) -> int:
    """The scope's number, made if it has none."""
    connection.execute("INSERT OR IGNORE INTO scope (name) VALUES (?)", (name,))
    row = connection.execute("SELECT id FROM scope WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise IndexUnavailable("a scope that was just written is not there")
    return int(row[0])
