"""One search of ``lexical.sqlite``: what it needs of the tables, as arrays, and the answer."""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import TYPE_CHECKING, Final

from ...errors import IndexUnavailable
from ...models.passages import Key
from ...models.scope import QUARANTINE_NAME, ScopeFilter
from ..lexical_port import LexicalRecord
from .arrays import BLOCK, NO_DOCUMENT, frame_rows, posting_rows
from .scoring import Documents, Floats, Ints, Postings, follows
from .tables import IN_ONE_QUESTION, Words

if TYPE_CHECKING:
    from .arrays import Rows

_SAMPLED: Final = 30
"""Documents whose words tell whether a scope's sessions hang together."""
_TERMS: Final = 300

type Measure = Callable[[sqlite3.Connection, int], float]
"""How much a scope's neighbours have to do with each other, by its number."""


@dataclass(frozen=True, slots=True)
class Part:
    """One scope of a search: its documents stand at ``start`` and behind."""

    name: str
    scope: int
    start: int
    length: int


class View:
    """What a reader sees, N documents of the tables and F that are not written yet behind them."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        scope_filter: ScopeFilter,
        fresh: Sequence[tuple[LexicalRecord, Words]],
        measure: Measure,
    ) -> None:
        """In the caller's transaction. Raises IndexUnavailable, sqlite3.Error."""
        self._connection = connection
        self._fresh = [(r, words) for r, words in fresh if scope_filter.admits(r.key.scope)]
        self._parts: list[Part] = []
        self._frames: list[Rows] = []
        self._shares: dict[str, float] = {}
        start = 0
        for scope, name in visible_scopes(connection, scope_filter):
            rows = _frame(connection, scope)
            if len(rows):
                self._parts.append(Part(name, scope, start, len(rows)))
                self._frames.append(rows)
                self._shares[name] = measure(connection, scope)
                start += len(rows)
        self._written = start
        self.documents = self._arrays()

    def _arrays(self) -> Documents:
        import numpy as np

        text, total, session, before, share = [], [], [], [], []
        sessions = 0
        for part, rows in zip(self._parts, self._frames, strict=True):
            text.append(rows["text"].astype(np.float64))
            total.append(rows["total"].astype(np.float64))
            session.append(rows["session"].astype(np.int64) + sessions)
            known = rows["previous"].astype(np.int64)
            if len(known) and (known.max() >= part.length or rows["session"].min() < 0):
                raise IndexUnavailable("a frame that points outside")
            before.append(np.where(known >= 0, known + part.start, NO_DOCUMENT))
            share.append(np.full(part.length, self._shares[part.name]))
            sessions += int(rows["session"].max()) + 1
        self._replace(text, total)
        lengths = np.array([words.lengths for _, words in self._fresh], dtype=np.float64)
        lengths = lengths.reshape(-1, 2)
        text.append(lengths[:, 0])
        total.append(lengths[:, 1])
        own_session, own_before, own_share = self._join_sessions(sessions)
        session.append(np.array(own_session, dtype=np.int64))
        before.append(np.array(own_before, dtype=np.int64))
        share.append(np.array(own_share, dtype=np.float64))
        return Documents(
            np.concatenate(text),
            np.concatenate(total),
            np.concatenate(session),
            np.concatenate(before),
            np.concatenate(share),
        )

    def _join_sessions(self, sessions: int) -> tuple[list[int], list[int], list[float]]:
        """Of what is not written yet: its session, what it follows on, and how much that means."""
        first = dict(zip((p.name for p in self._parts), self._first_sessions(), strict=True))
        parts = {part.name: part for part in self._parts}
        begun = {name: self._begun(part) for name, part in parts.items()}
        known: dict[tuple[str, str], tuple[int, int]] = {}  # session, and its last document so far
        found: tuple[list[int], list[int], list[float]] = ([], [], [])
        for place, (record, _) in enumerate(self._fresh, start=self._written):
            name = record.key.scope, record.session
            if name not in known:
                known[name] = sessions, NO_DOCUMENT
                part = parts.get(record.key.scope)
                last = None
                if part and record.session in begun[part.name]:
                    last = self._last_of(part, record)
                if part and last:
                    known[name] = first[part.name] + last[0], part.start + last[1]
                else:
                    sessions += 1
            number, before = known[name]
            known[name] = number, place
            found[0].append(number)
            found[1].append(before)
            found[2].append(self._shares.get(record.key.scope, 0.0))
        return found

    def _first_sessions(self) -> list[int]:
        """The number of each part's first session."""
        counts = [int(rows["session"].max()) + 1 for rows in self._frames]
        return [sum(counts[:number]) for number in range(len(counts))]

    def _begun(self, part: Part) -> set[str]:
        """The sessions of what is not written yet that have documents in the tables.

        Each comes with its number, for one without a name would else look like no row.
        """
        names = {r.session for r, _ in self._fresh if r.key.scope == part.name}
        found: set[str] = set()
        for some in batched(names, IN_ONE_QUESTION):
            rows = _in_one_row(
                self._connection,
                "SELECT group_concat(number || ':' || hex(name)) FROM session WHERE scope = ?"  # noqa: S608  (placeholders only)
                f" AND name IN ({','.join('?' * len(some))})",
                (part.scope, *some),
            )
            found.update(_unhexed(name).decode() for _, name in rows)
        return found

    def _last_of(self, part: Part, record: LexicalRecord) -> tuple[int, int] | None:
        """The number of the record's session, and of the last document in it."""
        row = self._connection.execute(
            "SELECT document.session, document.number FROM session"
            " JOIN document ON document.scope = session.scope"
            " AND document.session = session.number AND document.at <= ? AND document.id <> ?"
            " WHERE session.scope = ? AND session.name = ?"
            " ORDER BY document.at DESC, document.number DESC LIMIT 1",
            (record.at, record.key.memory_id, part.scope, record.session),
        ).fetchone()
        return row if row is not None and 0 <= row[1] < part.length else None

    def _replace(self, text: list[Floats], total: list[Floats]) -> None:
        """What is written anew counts as it is now, not as it was."""
        for number, part in enumerate(self._parts):
            names = [r.key.memory_id for r, _ in self._fresh if r.key.scope == part.name]
            for some in batched(names, IN_ONE_QUESTION):
                rows = _in_one_row(
                    self._connection,
                    "SELECT group_concat(number) FROM document WHERE scope = ?"  # noqa: S608  (placeholders only)
                    f" AND id IN ({','.join('?' * len(some))})",
                    (part.scope, *some),
                )
                for old in (int(at) for (at,) in rows):
                    if 0 <= old < part.length:
                        text[number][old] = total[number][old] = 0

    def postings(self, terms: Sequence[str]) -> list[Postings]:
        """Of each term, in the order of ``terms``."""
        import numpy as np

        found: dict[str, list[Postings]] = defaultdict(list)
        alive = self.documents.total > 0
        all_alive = bool(alive.all())
        for part in self._parts:
            for term, at, rows in standing(self._connection, part.scope, terms):
                if len(at) and at.max() >= part.length:
                    raise IndexUnavailable("a posting of nobody")
                at += part.start
                if not all_alive:
                    kept = alive[at]
                    at, rows = at[kept], rows[kept]
                text, context = rows["text"].astype(np.float64), rows["context"].astype(np.float64)
                found[term].append(Postings(at, text, context))
        wanted = set(terms)
        for place, (_, words) in enumerate(self._fresh, start=self._written):
            for term, counts in words.counts():
                if term in wanted:
                    found[term].append(_one(place, *counts))
        return [_joined(found.get(term, [])) for term in terms]

    def keys(self, places: Iterable[int]) -> tuple[dict[int, Key], int]:
        """Who stands there; and how many were refused, for their rows name another scope."""
        known: dict[int, Key] = {}
        refused = 0
        ends = [part.start + part.length for part in self._parts]
        by_part: dict[int, list[int]] = defaultdict(list)
        for place in places:
            if place >= self._written:
                known[place] = self._fresh[place - self._written][0].key
            else:
                by_part[bisect_right(ends, place)].append(place)
        for number, own in by_part.items():
            part = self._parts[number]
            name = _hexed(part.name)
            for some in batched(own, IN_ONE_QUESTION):
                for at, named, memory_id in _in_one_row(
                    self._connection,
                    "SELECT group_concat(number || ':' || hex(place) || ':' || hex(id))"  # noqa: S608  (placeholders only)
                    " FROM document WHERE scope = ?"
                    f" AND number IN ({','.join('?' * len(some))})",
                    (part.scope, *(place - part.start for place in some)),
                ):
                    if named == name:
                        known[part.start + int(at)] = Key(part.name, _unhexed(memory_id).decode())
                    else:
                        refused += 1
        return known, refused


def visible_scopes(
    connection: sqlite3.Connection, scope_filter: ScopeFilter
) -> list[tuple[int, str]]:
    """Number and name of the scopes that are read: by their names, and no others."""
    if scope_filter.everything:
        rows = connection.execute("SELECT id, name FROM scope WHERE name <> ?", (QUARANTINE_NAME,))
    else:
        names = scope_filter.names
        rows = connection.execute(
            f"SELECT id, name FROM scope WHERE name IN ({','.join('?' * len(names))})",  # noqa: S608  (placeholders only)
            names,
        )
    return [(scope, name) for scope, name in rows if scope_filter.admits(name)]


def standing(
    connection: sqlite3.Connection, scope: int, terms: Sequence[str]
) -> Iterable[tuple[str, Ints, Rows]]:
    """Each term that a scope has, the numbers of the documents in which it stands, and how often.

    A common term has a blob in every block: they are read as one.
    """
    for some in batched(terms, IN_ONE_QUESTION):
        rows = connection.execute(
            "SELECT term, group_concat(block), group_concat(length(data)),"  # noqa: S608  (placeholders only)
            " group_concat(hex(data), '') FROM posting"
            f" WHERE scope = ? AND term IN ({','.join('?' * len(some))}) GROUP BY term",
            (scope, *some),
        )
        for term, blocks, sizes, data in rows:
            found = posting_rows(_unhexed(data))
            yield term, _numbers(blocks, sizes, found), found


def _numbers(blocks: str, sizes: str, rows: Rows) -> Ints:
    """Of the documents that rows of these blocks speak of, whose blobs have these sizes."""
    import numpy as np

    block = np.array(blocks.split(","), dtype=np.int64)
    size = np.array(sizes.split(","), dtype=np.int64)
    if block.min() < 0 or len(size) != len(block) or (size % rows.itemsize).any():
        raise IndexUnavailable("postings of another form")
    count = size // rows.itemsize
    if count.sum() != len(rows):
        raise IndexUnavailable("postings of another length")
    numbers: Ints = rows["offset"] + np.repeat(block * BLOCK, count)
    return numbers


def _in_one_row(
    connection: sqlite3.Connection, question: str, values: Sequence[object]
) -> Iterable[list[str]]:
    """Several rows as one, for Python gives the GIL away at each row that SQLite finds: hundreds of
    times it would wait for it again where another thread works."""
    row = connection.execute(question, values).fetchone()
    return _split(row[0])


def _split(parts: str | None) -> Iterable[list[str]]:
    return (part.split(":") for part in parts.split(",")) if parts else ()


def _hexed(text: str) -> str:
    """As SQLite's ``hex`` does."""
    return text.encode().hex().upper()


_unhexed = bytes.fromhex


def measure_follows(connection: sqlite3.Connection, scope: int) -> float:
    """0 to 1 of a scope, by the words of some of its documents."""
    import numpy as np

    rows = _frame(connection, scope)
    alive = rows["total"] > 0
    if not alive.any():
        return 0.0
    sizes = np.bincount(rows["session"][alive])
    numbers = np.flatnonzero(alive)
    some = numbers[np.linspace(0, len(numbers) - 1, min(_SAMPLED, len(numbers))).astype(int)]
    terms: dict[str, None] = {}
    for (text,) in connection.execute(
        "SELECT terms FROM document WHERE scope = ?"  # noqa: S608  (placeholders only)
        f" AND number IN ({','.join('?' * len(some))})",
        (scope, *map(int, some)),
    ):
        terms |= dict.fromkeys(text.split())
    chosen = sorted(terms)[:: max(1, len(terms) // _TERMS)]
    sessions: Mapping[str, list[Ints]] = defaultdict(list)
    for term, at, found in standing(connection, scope, chosen):
        places = at[found["text"] > 0]
        sessions[term].append(rows["session"][places[places < len(rows)]].astype(np.int64))
    return follows(sizes, [np.concatenate(found) for found in sessions.values()])


def _frame(connection: sqlite3.Connection, scope: int) -> Rows:
    import numpy as np

    parts: list[Rows] = []
    for block, data in connection.execute(
        "SELECT block, data FROM frame WHERE scope = ? ORDER BY block", (scope,)
    ):
        if block != len(parts):
            raise IndexUnavailable("a frame is missing")
        parts.append(frame_rows(data))
    return np.concatenate(parts) if parts else np.zeros(0, dtype=[("total", "<u2")])


def _one(place: int, text: int, context: int) -> Postings:
    import numpy as np

    return Postings(np.array([place]), np.array([float(text)]), np.array([float(context)]))


def _joined(parts: Sequence[Postings]) -> Postings:
    import numpy as np

    if not parts:
        nothing = np.zeros(0)
        return Postings(np.zeros(0, dtype=np.int64), nothing, nothing)
    return Postings(
        np.concatenate([part.places for part in parts]),
        np.concatenate([part.text for part in parts]),
        np.concatenate([part.context for part in parts]),
    )
