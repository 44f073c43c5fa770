"""``index/embeddings.sqlite``: vectors that cost a model's work, by text and by model."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import batched
from pathlib import Path
from typing import Final

from ..log import logger
from ..runtime.cooperative import cooperative
from ..storage.files import make_folder
from ..storage.sqlite import checkpoint_wal, connect_numbered, is_broken, remove
from .embedding.ports import Fingerprint, Vector

FORMAT: Final = 1
_CHUNK: Final = 400
"""Rows in a statement, well below the least limit that a build of SQLite has."""
_ROUNDING: Final = 1e-3
"""How far the length of a vector in 32 bits may be from one."""
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS vector (
    model TEXT NOT NULL, content_hash TEXT NOT NULL, scope TEXT NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (model, content_hash, scope)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS used (model TEXT PRIMARY KEY, turn INTEGER NOT NULL) WITHOUT ROWID;
"""
_MODELS: Final = 2
"""Of which vectors are kept: that which is in use, and the last one before, which may come back."""


@dataclass(frozen=True, slots=True)
class TextKey:
    """A text by its hash, and the scope that it was said in."""

    scope: str
    content_hash: str


class SqliteVectorCache:
    """Vectors that cost a model's work, kept so that a rebuilt index costs none. Best effort: what
    fails is a miss, and nothing raises. Every method blocks.

    A vector is a function of the text and the model alone, so the same text is looked up whatever
    scope it was said in; the scope is kept so that what a scope forgets goes from here, too.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def open(self, *, create: bool = True) -> bool:
        """Make ready. Idempotent. Without ``create`` only if there is something kept.

        False where nothing is kept and nothing will be: all that is asked is a miss.
        """
        with self._lock:
            if self._connection is None and (create or self._path.exists()):
                try:
                    self._connection = self._connected()
                except (sqlite3.Error, OSError) as error:
                    if is_broken(error):
                        self._begin_anew()
            return self._connection is not None

    def _begin_anew(self) -> None:
        """A file that is no cache of ours is of no use to anybody: it is a cache."""
        try:
            remove(self._path)
            self._connection = self._connected()
        except (sqlite3.Error, OSError) as error:
            logger.debug("the cache of vectors cannot be used: {}", error)

    def _connected(self) -> sqlite3.Connection:
        make_folder(self._path.parent)
        connection = connect_numbered(self._path, wait_seconds=1.0, number=FORMAT, tables=_TABLE)
        try:
            # Wrong columns show here, not at the first question.
            connection.execute("SELECT model, content_hash, scope, vector FROM vector LIMIT 1")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def get(self, fingerprint: Fingerprint, keys: Sequence[TextKey]) -> dict[TextKey, Vector]:
        """The vectors that are known, each of shape ``(dim,)``."""
        found: dict[str, Vector] = {}

        def read(connection: sqlite3.Connection) -> None:
            for some in batched({key.content_hash for key in keys}, _CHUNK):
                places = ",".join("?" * len(some))
                rows = connection.execute(
                    "SELECT content_hash, vector FROM vector"  # noqa: S608  (placeholders only)
                    f" WHERE model = ? AND content_hash IN ({places})",
                    (_model(fingerprint), *some),
                )
                for content_hash, blob in rows:
                    vector = _unit_vector(blob, fingerprint.dim)
                    if vector is not None:
                        found[content_hash] = vector

        self._attempt(read)
        return {key: found[key.content_hash] for key in keys if key.content_hash in found}

    def put(self, fingerprint: Fingerprint, vectors: Mapping[TextKey, Vector]) -> None:
        """Add or replace."""
        import numpy as np

        model = _model(fingerprint)
        rows = [
            (model, key.content_hash, key.scope, np.asarray(vector, dtype="<f4").tobytes())
            for key, vector in vectors.items()
        ]
        self._attempt(
            lambda c: c.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?)", rows)
        )

    def forget(self, keys: Collection[TextKey]) -> bool:
        """Remove, whatever model the vectors are of. Returns False if they may still be there."""
        rows = [(key.scope, key.content_hash) for key in keys]
        return self._attempt(
            lambda c: c.executemany("DELETE FROM vector WHERE scope = ? AND content_hash = ?", rows)
        )

    def checkpoint_wal(self) -> bool:
        """Leave nothing on disk of what was removed. Returns False if something may be left."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            if self._connection is not None:
                checkpoint_wal(self._connection)
                return True
        return not self._path.exists()

    def keep_only(self, fingerprint: Fingerprint | None, keys: Collection[TextKey]) -> bool:
        """Remove the vectors of all other texts, and of all models but this one, which is in use
        now, and the last one before it. None leaves every model's. Returns False if that failed."""

        def sweep(connection: sqlite3.Connection) -> None:
            if fingerprint is not None:
                _use(connection, _model(fingerprint))
            known = connection.execute("SELECT DISTINCT scope, content_hash FROM vector").fetchall()
            gone = [row for row in cooperative(known) if TextKey(*row) not in keys]
            connection.executemany("DELETE FROM vector WHERE scope = ? AND content_hash = ?", gone)

        return self._attempt(sweep)

    def close(self) -> None:
        """Give back the file. Idempotent; nothing is known afterwards."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _attempt(self, work: Callable[[sqlite3.Connection], object]) -> bool:
        """All of the work or, where the file or the disk fails, none of it: False. Where there is
        no file, all is done."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            if self._connection is not None:
                with _transaction(self._connection):
                    work(self._connection)
                return True
        return not self._path.exists()


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _unit_vector(blob: object, dim: int) -> Vector | None:
    """None for what was never put there: the file may have been damaged."""
    import numpy as np

    if not isinstance(blob, bytes) or len(blob) != 4 * dim:
        return None
    vector: Vector = np.frombuffer(blob, dtype="<f4").astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        length = np.linalg.norm(vector)
    return vector if abs(length - 1.0) < _ROUNDING else None


def _use(connection: sqlite3.Connection, model: str) -> None:
    """It is in use now; vectors of the one that was used longest ago go."""
    connection.execute(
        "INSERT OR REPLACE INTO used SELECT ?, COALESCE(MAX(turn), 0) + 1 FROM used", (model,)
    )
    connection.execute(
        "DELETE FROM used WHERE model NOT IN (SELECT model FROM used ORDER BY turn DESC LIMIT ?)",
        (_MODELS,),
    )
    connection.execute("DELETE FROM vector WHERE model NOT IN (SELECT model FROM used)")


def _model(fingerprint: Fingerprint) -> str:
    identity = json.dumps([fingerprint.model, fingerprint.dim, fingerprint.revision])
    return hashlib.sha256(identity.encode()).hexdigest()
