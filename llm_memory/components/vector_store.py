"""The vector index over Chroma. A cache: the vault can rebuild all of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import batched
from threading import Lock
from typing import TYPE_CHECKING, Final

from ..errors import IndexUnavailable
from ..models.scope import ScopeFilter
from ..ports import Fingerprint, IndexRecord, Key, Neighbours, Vector, Vectors
from .chroma.calls import listed, nearest, remove, replace
from .chroma.connection import Connection
from .chroma.faults import attempt, translated
from .chroma.gate import Gate
from .chroma.names import PREFIX, collection_name, dimension_of, record_id
from .chroma.records import sound_hash, stored_metadata, visible
from .scope_where import scope_where

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

__all__ = ["ChromaVectorStore", "collection_name"]

BATCH: Final = 50
"""Records in a write call: Chroma holds the GIL while it writes, and the bot waits for it."""
PAGE: Final = 1000
"""Records in a reading call, for the same reason. Chroma's own limit is about 5000."""
WIDEST: Final = 5000
"""The most neighbours asked for to make up for refused ones."""


def breathe() -> None:
    """A pause in which the bot gets the GIL."""
    time.sleep(0.02)


class ChromaVectorStore:
    """The port VectorStore over a Chroma. Thread-safe: many readers, one writer.

    A store that was closed stays closed; make another one for the same directory.
    """

    def __init__(self, connection: Connection, *, rest: Callable[[], object] = breathe) -> None:
        """``rest`` is called between two write calls, outside the writer lock."""
        self._connection = connection
        self._rest = rest
        self._gate = Gate()
        self._opening = Lock()
        self._writing = Lock()
        self._named: dict[str, Fingerprint] = {}
        self._client: ClientAPI | None = None
        self._collection: Collection | None = None

    def open(self) -> str:
        with self._opening:
            if self._gate.closed:
                raise IndexUnavailable("the index is closed")
            if self._client is not None:
                return ""
            self._client = self._connection.open()
            return self._connection.set_aside

    def settled(self) -> None:
        with self._writing, self._gate:
            if self._client is not None:
                self._connection.settled()

    def worn(self) -> bool:
        return self._connection.worn(self.count())

    def discard(self, reason: str) -> None:
        with self._opening, self._writing:
            self._client = self._collection = None
            self._connection.close()
            self._connection.discard(reason)

    def reset(self) -> None:
        with self._opening, self._writing:
            self._client = self._collection = None
            self._connection.doubted()
            self._connection.close()

    def close(self) -> None:
        with self._opening:
            self._gate.close()
            self._client = self._collection = None
            self._connection.close()

    def name_for(self, fingerprint: Fingerprint) -> str:
        name = collection_name(fingerprint)
        self._named[name] = fingerprint
        return name

    def collections(self) -> tuple[str, ...]:
        with self._gate, translated("listing collections"):
            return tuple(sorted(self._ours()))

    def use(self, collection: str) -> bool:
        if not collection.startswith(PREFIX):
            raise ValueError(f"no collection of ours: {collection!r}")
        with self._writing, self._gate, translated("opening a collection"):
            known = collection in self._ours()
            if known:
                # Without an embedding function: the default one fetches a model.
                opened = self._opened().get_collection(collection, embedding_function=None)
            else:
                self._connection.writing(0)
                opened = self._opened().create_collection(
                    collection,
                    configuration={
                        "hnsw": {"space": "cosine", "sync_threshold": 100, "ef_search": 200}
                    },
                    metadata=self._about(collection),
                    embedding_function=None,
                )
            self._collection = opened
            return known

    def drop(self, collection: str) -> None:
        with self._writing, self._gate, translated("dropping a collection"):
            if self._collection is not None and self._collection.name == collection:
                raise IndexUnavailable(f"the collection is in use: {collection}")
            if collection in self._ours():
                self._connection.writing(0)
                self._opened().delete_collection(collection)

    def upsert(self, records: Sequence[IndexRecord], vectors: Vectors) -> None:
        rows = self._comparable(vectors)
        if len(rows) != len(records):
            raise ValueError(f"{len(records)} records, {len(rows)} vectors")
        # The last of equal keys wins; Chroma refuses a batch that has two.
        latest = {record_id(r.key): (r, row) for r, row in zip(records, rows, strict=True)}
        for batch in self._batches(latest.items()):
            ids = [identifier for identifier, _ in batch]
            metadatas = [stored_metadata(record) for _, (record, _) in batch]
            vectors_of_batch = [row for _, (_, row) in batch]
            self._write(partial(replace, ids, metadatas, vectors_of_batch), rows.nbytes)

    def delete(self, keys: Sequence[Key]) -> None:
        for batch in self._batches(dict.fromkeys(map(record_id, keys))):
            self._write(partial(remove, list(batch)), 0)
            self._connection.removed(len(batch))

    def hashes(self) -> dict[Key, str]:
        """Empty for a record whose scope or hash is damaged, so that it is written again."""
        found: dict[Key, str] = {}
        with self._writing:  # a write between two pages would shift them
            while True:
                page = self._ask("reading", partial(listed, len(found), PAGE))
                found.update((key, sound_hash(key, metadata)) for key, metadata in page)
                if len(page) < PAGE:
                    return found

    def count(self) -> int:
        return self._ask("counting", lambda collection: int(collection.count()))

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        where = scope_where(scope_filter)
        row = self._comparable([vector])[0]
        k = max(k, 0)
        wanted = max(k, 1)
        while True:
            answer = self._ask("query", partial(nearest, row, where, wanted))
            neighbours = visible(answer, scope_filter)
            enough = len(neighbours.found) >= k or len(answer) < wanted or wanted >= WIDEST
            if enough or not neighbours.dropped:
                return Neighbours(neighbours.found[:k], neighbours.dropped)
            wanted = min(wanted * 4, WIDEST)  # a damaged record takes no sound one's place

    def _opened(self) -> ClientAPI:
        if self._client is None:
            raise IndexUnavailable("the index is not open")
        return self._client

    def _ours(self) -> set[str]:
        names = (collection.name for collection in self._opened().list_collections())
        return {name for name in names if name.startswith(PREFIX)}

    def _about(self, collection: str) -> dict[str, str | int]:
        """What stands beside a new collection, for people to read: its fingerprint."""
        fingerprint = self._named.get(collection)
        known = asdict(fingerprint) if fingerprint is not None else {}
        return {"dim": dimension_of(collection) or 0, **known}

    def _ask[T](self, doing: str, call: Callable[[Collection], T]) -> T:
        with self._gate:
            collection = self._collection
            if collection is None:
                raise IndexUnavailable("no collection is in use")
            return attempt(doing, lambda: call(collection))

    def _write(self, call: Callable[[Collection], None], size: int) -> None:
        with self._writing:
            self._connection.writing(size)
            self._ask("writing", call)

    def _batches[T](self, items: Iterable[T]) -> Iterator[tuple[T, ...]]:
        """At most BATCH each. Between two of them others write, and the bot runs."""
        for number, batch in enumerate(batched(items, BATCH)):
            if number:
                self._rest()
            yield batch

    def _comparable(self, vectors: Sequence[Vector] | Vectors) -> Vectors:
        """As float32, shape ``(n, dim)``. Raises IndexUnavailable for what the index cannot hold:
        a NaN would spoil its neighbours, a first vector of wrong length the collection.
        """
        import numpy as np

        rows = np.asarray(vectors, dtype=np.float32)
        collection = self._collection
        expected = dimension_of(collection.name) if collection is not None else None
        if len(rows) and (rows.ndim != 2 or (expected and rows.shape[1] != expected)):
            raise IndexUnavailable(f"vectors of shape {rows.shape}, dimension {expected}")
        if not np.isfinite(rows).all():
            raise IndexUnavailable("vectors that are not finite")
        return rows
