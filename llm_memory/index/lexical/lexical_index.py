"""``index/lexical.sqlite``: an index of words. A cache; delete it and it is made again."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ...errors import IndexFull, IndexUnavailable
from ...models.passages import Key
from ...models.scope import ScopeFilter
from ...runtime.cooperative import cooperative
from ...storage.files import make_folder
from ...storage.imports import import_whole
from ...storage.sqlite import check, checkpoint_wal, connect, connect_numbered, remove
from ...text.tokenizer import VERSION, Tokenizer
from ..lexical_port import LexicalMatch, LexicalMatches, LexicalQuery, LexicalRecord
from . import lexical_search
from .question import Question, coverages, holding_all
from .scoring import best_places, scores
from .tables import FORMAT, LOOK, SCHEMA, Words, scope_number, write

_WAIT_SECONDS: Final = 1.0
_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_FULL: Final = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
_REMEASURE: Final = 0.2
"""A scope of which so large a share was written or removed is measured again,"""
_SMALL: Final = 256
"""and one of at most so many documents after every change."""
_KEPT_WORDS: Final = 1000
_LEAST_AROUND: Final = 16
_AROUND_WORK: Final = 200_000
"""Terms of the talk before a question, times documents: so many are looked up, and 16 in any case.
They only order what is found, and what each costs grows with the store."""
_FIRST_BITS: Final = 0xFF


@dataclass(slots=True)
class _Measured:
    """How far the documents of a scope's sessions follow on each other, and how many of its
    ``size`` documents were written or removed since that was measured."""

    share: float
    size: int
    changes: int = 0

    @property
    def is_outdated(self) -> bool:
        return self.changes > (0 if self.size <= _SMALL else self.size * _REMEASURE)


class SqliteLexicalIndex:
    """Implements the ``LexicalIndex`` port with postings of its own.

    SQLite's FTS5 is not used: its ranking knows one corpus, so that a private word would change
    what others find, it cannot tell sessions, and a scope is a filter behind it. One connection
    reads, another writes; in WAL mode neither waits for the other.

    Args:
        tokenizer: Its own; closed with the index.
    """

    def __init__(self, path: Path, tokenizer: Tokenizer) -> None:
        self._path = path
        self._tokenizer = tokenizer
        self._reading = threading.Lock()
        self._writing = threading.Lock()
        self._reader: sqlite3.Connection | None = None
        self.writer: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._closed = False
        self._follows: dict[int, _Measured] = {}
        self._words: OrderedDict[tuple[Key, str], Words] = OrderedDict()

    def open(self) -> str:
        with self._writing, self._reading:
            if self._closed:
                raise IndexUnavailable("closed", code="closed")
            if self.writer is not None:
                return ""
            self._tokenizer.dictionary()
            try:
                import_whole("numpy")
            except ImportError as error:
                raise IndexUnavailable(f"no numpy: {error}", code="no_numpy") from error
            try:
                self._connect()
            except (sqlite3.Error, OSError) as error:
                self._close_connections()
                if isinstance(error, OSError) or _code(error) in (*_BUSY, *_FULL):
                    raise _translated(error) from error
                remove(self._path)
            else:
                return ""
            try:
                self._connect()
            except (sqlite3.Error, OSError) as error:
                self._close_connections()
                raise _translated(error) from error
            return "fault"

    def _connect(self) -> None:
        make_folder(self._path.parent)
        self.writer = connect_numbered(
            self._path, wait_seconds=_WAIT_SECONDS, number=FORMAT, tables=SCHEMA
        )
        self._check(self.writer)
        self._reader = connect(self._path, wait_seconds=_WAIT_SECONDS, can_be_made_again=True)
        self._file = self._identity()

    def _check(self, connection: sqlite3.Connection) -> None:
        """Raises sqlite3.DatabaseError: not whole, or of another version."""
        check(connection)
        for look in LOOK:
            connection.execute(look).fetchone()
        words = self._tokenizer.dictionary()
        tokens = f"{VERSION}-{'characters' if words is None else words.source.hex()}"
        known = connection.execute("SELECT value FROM meta WHERE name = 'tokens'").fetchone()
        if known is None:
            connection.execute("INSERT INTO meta VALUES ('tokens', ?)", (tokens,))
        elif known[0] != tokens:
            raise sqlite3.DatabaseError(f"tokens {known[0]}, now {tokens}")

    def _identity(self) -> tuple[int, int]:
        status = self._path.stat()
        return status.st_dev, status.st_ino

    def write(self, records: Sequence[LexicalRecord], gone: Collection[Key]) -> None:
        with_words = [(record, self._words_of(record)) for record in cooperative(records)]
        with self._writing, _translating():
            connection = self._open_connection(self.writer)
            try:
                same = self._identity() == self._file
            except OSError:
                same = False
            if not same:
                raise IndexUnavailable("the file is another one, or gone", code="missing")
            with _transaction(connection, "BEGIN IMMEDIATE"):
                write(connection, with_words, gone)
                changes = Counter(key.scope for key in gone)
                changes.update(record.key.scope for record in records)
                for name, count in changes.items():
                    scope = scope_number(connection, name)
                    if scope in self._follows:
                        self._follows[scope].changes += count
                    self._measure(connection, scope)  # here no search waits for it
            for record in records:
                self._words.pop((record.key, record.content_hash), None)

    def checkpoint_wal(self) -> None:
        with self._writing, self._reading, _translating():
            checkpoint_wal(self._open_connection(self.writer))

    def hashes(self) -> dict[Key, str]:
        # Not over the reader's connection: a search would wait for the whole list.
        with self._writing, _translating():
            rows = self._open_connection(self.writer).execute(
                "SELECT scope.name, document.id, hash, place FROM document"
                " JOIN scope ON scope.id = document.scope"
            )
            # What does not know its own scope differs from any memory: it is written again.
            return {
                Key(name, i): h if place == name else "" for name, i, h, place in cooperative(rows)
            }

    def count(self) -> int:
        with self._writing, _translating():
            connection = self._open_connection(self.writer)
            return int(connection.execute("SELECT COUNT(*) FROM document").fetchone()[0])

    def search(
        self,
        query: LexicalQuery,
        scope_filter: ScopeFilter,
        k: int,
        fresh: Iterable[LexicalRecord] = (),
    ) -> LexicalMatches:
        import numpy as np

        question = Question.read(self._tokenizer, query)
        if not question.terms or k < 1:
            return LexicalMatches()
        unwritten = [(record, self._words_of(record)) for record in fresh]
        with self._reading, _translating():
            connection = self._open_connection(self._reader)
            with _transaction(connection, "BEGIN"):
                view = lexical_search.View(connection, scope_filter, unwritten, self._measure)
                tokens = view.postings(question.terms)
                many = max(_LEAST_AROUND, _AROUND_WORK // max(len(view.documents.text), 1))
                before = view.postings(question.around[:many])
                said, own = question.apart(tokens)
                score = scores(view.documents, said, [*own, *before])
                holders = holding_all(question, tokens, len(score))
                places = best_places(score, k, holders)
                keys, refused = view.keys(places.tolist())
        best = float(score[places[0]]) if len(places) else 1.0
        shares = coverages(question, view.documents, tokens, places, carried=query.carried)
        found = tuple(
            LexicalMatch(key, own / best, share)
            for place, own, share in zip(
                places.tolist(), score[places].tolist(), shares, strict=True
            )
            if (key := keys.get(place)) is not None and scope_filter.admits(key.scope)
        )
        return LexicalMatches(found, refused, int(np.count_nonzero(holders)))

    def _measure(self, connection: sqlite3.Connection, scope: int) -> float:
        known = self._follows.get(scope)
        if known is None or known.is_outdated:
            (size,) = connection.execute(
                "SELECT COALESCE(MAX(number), 0) FROM document WHERE scope = ?", (scope,)
            ).fetchone()
            known = _Measured(lexical_search.measure_follows(connection, scope), size)
            self._follows[scope] = known
        return known.share

    def _words_of(self, record: LexicalRecord) -> Words:
        name = record.key, record.content_hash
        known = self._words.get(name)
        if known is None:
            tokens = self._tokenizer.tokens
            known = Words(Counter(tokens(record.text)), Counter(tokens(record.context)))
            self._words[name] = known
            while len(self._words) > _KEPT_WORDS:
                with contextlib.suppress(KeyError):  # another thread was faster
                    self._words.popitem(last=False)
        return known

    def _open_connection(self, connection: sqlite3.Connection | None) -> sqlite3.Connection:
        if connection is None:
            raise IndexUnavailable("closed" if self._closed else "not open", code="closed")
        return connection

    def discard(self) -> None:
        with self._writing, self._reading:
            self._close_connections()
            with _translating():
                remove(self._path)

    def _close_connections(self) -> None:
        for connection in (self._reader, self.writer):
            if connection is not None:
                with contextlib.suppress(sqlite3.Error):
                    connection.close()
        self._reader = self.writer = self._file = None
        self._follows.clear()
        self._words.clear()

    def close(self) -> None:
        with self._writing, self._reading:
            self._closed = True
            self._close_connections()
        self._tokenizer.close()


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def _translating() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError, ValueError, IndexError) as error:
        raise _translated(error) from error


def _code(error: BaseException) -> int:
    if not isinstance(error, sqlite3.Error):
        return sqlite3.SQLITE_OK
    # Not set where Python's own wrapper raises, as for a closed connection.
    return (getattr(error, "sqlite_errorcode", None) or sqlite3.SQLITE_OK) & _FIRST_BITS


def _translated(error: BaseException) -> IndexUnavailable:
    code = _code(error)
    if code in _BUSY:
        return IndexUnavailable(str(error), code="busy")
    if code in _FULL or isinstance(error, OSError):
        return IndexFull(str(error))
    return IndexUnavailable(f"{type(error).__name__}: {error}")
