"""The vector index over Chroma. A cache: the vault can rebuild all of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Condition, Lock
from typing import TYPE_CHECKING, Final

from ...errors import IndexUnavailable
from ...models.passages import Key
from ...models.scope import ScopeFilter
from ..embedding.ports import Fingerprint, Vector, Vectors
from .collection_calls import listed, remove, replace
from .collections import existing, made, our_names
from .connection import Client, Connection
from .faults import attempt, translated
from .names import collection_name, dimension_of, prefix_of, record_id
from .ports import IndexRecord, Neighbours
from .records import sound_hash, stored_metadata
from .search import MANY, Search
from .write_pace import WritePace

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

__all__ = ["ChromaVectorStore", "collection_name"]

PAGE: Final = 250
"""Records in a reading call: Chroma holds the GIL, and what a page takes is not given back: of a
thousand twelve megabytes more. Its own limit is about 5000."""


class Gate:
    """``with gate:`` around each call. Any number may be inside at once."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._inside = 0
        self._closed = False

    @property
    def closed(self) -> bool:
        """True from the moment that close was called."""
        return self._closed

    def __enter__(self) -> None:
        with self._changed:
            if self._closed:
                raise IndexUnavailable("the index is closed", code="closed")
            self._inside += 1

    def __exit__(self, *raised: object) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def close(self) -> None:
        """Admit no further call, and wait until the last one has ended. Idempotent."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._inside == 0)


class ChromaVectorStore:
    """The port VectorStore over a Chroma. Thread-safe: many readers, one writer.

    A store that was closed stays closed; make another one for the same directory.
    """

    def __init__(
        self, connection: Connection, *, pace: WritePace | None = None, many: int = MANY
    ) -> None:
        """
        Args:
            connection: Opened and closed by this store.
            pace: How much goes into one write call, and the rest before the next.
            many: Records from which on neighbours are looked for without a filter first.
        """
        self._connection = connection
        self._pace = pace or WritePace()
        self._many = many
        self._gate = Gate()
        self._opening = Lock()
        self._writing = Lock()
        self._named: dict[str, Fingerprint] = {}
        self._client: Client | None = None
        self._collection: Collection | None = None
        self._search = Search(self._ask, many=many)
        self._size: int | None = None

    def open(self) -> str:
        with self._opening:
            if self._gate.closed:
                raise IndexUnavailable("the index is closed", code="closed")
            if self._client is not None:
                return ""
            self._client = self._connection.open()
            return self._connection.set_aside

    def worn(self) -> bool:
        return self._connection.worn(self.count())

    def discard(self, reason: str) -> None:
        with self._opening, self._writing:
            self._client = self._collection = None
            self._connection.close()
            self._connection.discard(reason)

    def clear(self) -> None:
        with self._opening, self._writing:
            self._connection.clear()

    def reset(self) -> None:
        with self._opening, self._writing:
            self._client = self._collection = None
            self._connection.close()

    def close(self) -> None:
        with self._opening:
            self._gate.close()
            self._client = self._collection = None
            self._connection.close()

    def name_for(self, fingerprint: Fingerprint) -> str:
        name = collection_name(fingerprint, self._connection.owner)
        self._named[name] = fingerprint
        return name

    def collections(self) -> tuple[str, ...]:
        with self._gate, translated("listing collections"):
            return tuple(sorted(our_names(self._opened(), self._connection.owner)))

    def use(self, collection: str) -> bool:
        owner = self._connection.owner
        if not collection.startswith(prefix_of(owner)):
            raise ValueError(f"no collection of ours: {collection!r}")
        with self._writing, self._gate, translated("opening a collection"):
            found = existing(self._opened(), collection, owner)
            if found is None:
                self._connection.writing(0)
                fingerprint = self._named.get(collection)
                self._collection = made(self._opened(), collection, owner, fingerprint)
            else:
                self._collection = found
            self._search = Search(self._ask, many=self._many)
            self._size = None
            return found is not None

    def drop(self, collection: str) -> None:
        with self._writing, self._gate, translated("dropping a collection"):
            if self._collection is not None and self._collection.name == collection:
                raise IndexUnavailable(f"the collection is in use: {collection}")
            if collection in our_names(self._opened(), self._connection.owner):
                self._connection.writing(0)
                self._opened().delete_collection(collection)

    def upsert(self, records: Sequence[IndexRecord], vectors: Vectors) -> None:
        rows = self._comparable(vectors)
        if len(rows) != len(records):
            raise ValueError(f"{len(records)} records, {len(rows)} vectors")
        # The last of equal keys wins; Chroma refuses a batch that has two.
        latest = {record_id(r.key): (r, row) for r, row in zip(records, rows, strict=True)}
        for batch in self._pace.portions(latest.items()):
            ids = [identifier for identifier, _ in batch]
            metadatas = [stored_metadata(record) for _, (record, _) in batch]
            vectors_of_batch = [row for _, (_, row) in batch]
            size = sum(row.nbytes for row in vectors_of_batch)
            self._write(partial(replace, ids, metadatas, vectors_of_batch), size)
            self._grow(len(batch))

    def delete(self, keys: Sequence[Key]) -> None:
        for batch in self._pace.portions(dict.fromkeys(map(record_id, keys))):
            self._write(partial(remove, batch), 0)
            self._connection.removed(len(batch))
            self._grow(-len(batch))

    def hashes(self) -> dict[Key, str]:
        """Empty for a record whose scope or hash is damaged, so that it is written again."""
        found: dict[Key, str] = {}
        with self._writing:  # a write between two pages would shift them
            while True:
                page = self._ask("reading", partial(listed, len(found), PAGE))
                found.update((key, sound_hash(key, metadata)) for key, metadata in page)
                if len(page) < PAGE:
                    self._size = len(found)
                    return found

    def count(self) -> int:
        size = self._ask("counting", lambda collection: int(collection.count()))
        self._size = size
        return size

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        row = self._comparable([vector])[0]
        return self._search.query(row, scope_filter, k, self._about)

    def _about(self) -> int:
        """Roughly how many records there are: counted once, and then reckoned."""
        size = self._size
        return self.count() if size is None else size

    def _grow(self, by: int) -> None:
        # Keys that were there before are taken for new ones: it decides on the way that a query
        # goes, and the next count puts it right.
        if self._size is not None:
            self._size = max(0, self._size + by)

    def _opened(self) -> Client:
        if self._client is None:
            raise IndexUnavailable("the index is not open", code="closed")
        return self._client

    def _ask[T](self, doing: str, call: Callable[[Collection], T]) -> T:
        with self._gate:
            collection = self._collection
            if collection is None:
                raise IndexUnavailable("no collection is in use", code="closed")
            self._connection.asking()
            return attempt(doing, lambda: call(collection))

    def _write(self, call: Callable[[Collection], None], size: int) -> None:
        with self._writing:
            self._connection.writing(size)
            self._ask("writing", call)

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
