"""The index in memory: brute force, no native part, the same contract as the real one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.scope_where import scope_where
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import (
    Fingerprint,
    Vector,
    Vectors,
)
from astrbot_plugin_scoped_memory.llm_memory.index.vector.names import (
    PREFIX,
    collection_name,
    dimension_of,
    parse_id,
    record_id,
)
from astrbot_plugin_scoped_memory.llm_memory.index.vector.ports import (
    IndexRecord,
    Neighbour,
    Neighbours,
)
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import ScopeFilter


@dataclass(frozen=True)
class Row:
    """A stored record, as a corruption may have left it."""

    metadata: Mapping[str, object]
    vector: Vector


type Collection = dict[str, Row]


@dataclass
class Disk:
    """What outlives a store: collections by name, rows by id."""

    collections: dict[str, Collection] = field(default_factory=dict)
    deleted: int = 0

    @property
    def worn(self) -> bool:
        """Whether more was deleted than is left."""
        return self.deleted > sum(map(len, self.collections.values()))


class InMemoryVectorStore:
    """The port VectorStore."""

    def __init__(self, disk: Disk | None = None) -> None:
        self.disk = disk or Disk()
        self._name: str | None = None
        self._set_aside = ""
        self._is_open = False
        self._is_closed = False

    def open(self) -> str:
        if self._is_closed:
            raise IndexUnavailable("closed")
        self._is_open = True
        why, self._set_aside = self._set_aside, ""
        return why

    def worn(self) -> bool:
        return self.disk.deleted > self.count()

    def discard(self, reason: str) -> None:
        self._name, self._is_open, self._set_aside = None, False, reason
        self.disk.collections.clear()
        self.disk.deleted = 0

    def clear(self) -> None:
        self.disk.collections.clear()

    def reset(self) -> None:
        self._name, self._is_open = None, False

    def close(self) -> None:
        self._is_closed = True

    def name_for(self, fingerprint: Fingerprint) -> str:
        return collection_name(fingerprint)

    def collections(self) -> tuple[str, ...]:
        return tuple(sorted(self._opened()))

    def use(self, collection: str) -> bool:
        if not collection.startswith(PREFIX):
            raise ValueError(f"no collection of ours: {collection!r}")
        known = collection in self._opened()
        self._opened().setdefault(collection, {})
        self._name = collection
        return known

    def drop(self, collection: str) -> None:
        if collection in self._opened() and collection == self._name:
            raise IndexUnavailable(f"in use: {collection}")
        self._opened().pop(collection, None)

    def upsert(self, records: Sequence[IndexRecord], vectors: Vectors) -> None:
        rows = self._rows()
        if len(records) != len(vectors):
            raise ValueError(f"{len(records)} records, {len(vectors)} vectors")
        written = {}
        for record, vector in zip(records, vectors, strict=True):
            own = {"memory_scope": record.key.scope, "content_hash": record.content_hash}
            metadata = {**record.metadata, **own}
            written[record_id(record.key)] = Row(metadata, self._comparable(vector))
        rows.update(written)

    def delete(self, keys: Sequence[Key]) -> None:
        rows = self._rows()
        for key in keys:
            if rows.pop(record_id(key), None) is not None:
                self.disk.deleted += 1

    def hashes(self) -> dict[Key, str]:
        found = {}
        for identifier, row in self._rows().copy().items():
            key = parse_id(identifier)
            content_hash = row.metadata.get("content_hash")
            sound = row.metadata.get("memory_scope") == key.scope
            found[key] = content_hash if sound and isinstance(content_hash, str) else ""
        return found

    def count(self) -> int:
        return len(self._rows())

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        scope_where(scope_filter)  # the guard of the real one: validated scopes only
        rows, wanted = self._rows().copy(), self._comparable(vector)
        found, dropped = [], 0
        for identifier, row in rows.items():
            key, stored = parse_id(identifier), row.metadata.get("memory_scope")
            if stored == key.scope and scope_filter.admits(stored):
                found.append(Neighbour(key, float(row.vector @ wanted)))
            elif scope_filter.admits(stored) or (scope_filter.everything and stored is None):
                dropped += 1  # what a store would have answered, going by its metadata alone
        found.sort(key=lambda neighbour: -neighbour.similarity)
        return Neighbours(tuple(found[: max(k, 0)]), dropped)

    def _opened(self) -> dict[str, Collection]:
        if self._is_closed or not self._is_open:
            raise IndexUnavailable("closed" if self._is_closed else "not open")
        return self.disk.collections

    def _rows(self) -> Collection:
        collections = self._opened()
        if self._name is None:
            raise IndexUnavailable("no collection is in use")
        return collections[self._name]

    def _comparable(self, vector: Vector) -> Vector:
        row: Vector = np.asarray(vector, dtype=np.float32)
        expected = dimension_of(self._name or "")
        if row.ndim != 1 or (expected and len(row) != expected) or not np.isfinite(row).all():
            raise IndexUnavailable(f"a vector of shape {row.shape}, dimension {expected}")
        return row


class PoisonedVectorStore(InMemoryVectorStore):
    """An index that answers with records of every scope, whatever it was asked."""

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        return Neighbours(tuple(Neighbour(key, 0.99) for key in self.hashes()))
