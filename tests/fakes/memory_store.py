"""The port VectorStore over this process's memory: no native part, the same contract."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import batched

import numpy as np

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.records import record_id
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import (
    Fingerprint,
    Vector,
    Vectors,
)
from astrbot_plugin_scoped_memory.llm_memory.index.ports import PAGE, IndexRecord, Neighbours, Page
from astrbot_plugin_scoped_memory.llm_memory.index.vectors import VectorArrays, finite
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import ScopeFilter

type Rows = dict[Key, tuple[IndexRecord, Vector]]


@dataclass
class Disk:
    """What outlives a store: a collection by its embedder."""

    collections: dict[Fingerprint, Rows] = field(default_factory=dict)


class MemoryStore:
    """See ``VectorStore``. ``fault`` is raised by every call while it is set."""

    def __init__(self, disk: Disk | None = None) -> None:
        self.disk = disk or Disk()
        self.fault: IndexUnavailable | None = None
        self._fingerprint: Fingerprint | None = None
        self._closed = False

    def load(self, fingerprint: Fingerprint, most: int) -> Iterator[Page]:
        self._check()
        self._fingerprint = fingerprint
        mine = self.disk.collections.get(fingerprint, {})
        self.disk.collections.clear()
        self.disk.collections[fingerprint] = mine
        small = len(mine) <= most
        for some in batched(list(mine.values()), PAGE):
            self._check()
            rows = np.stack([row for _, row in some]) if small else None
            yield [record for record, _ in some], rows

    def write(self, records: Sequence[IndexRecord], vectors: Vectors) -> None:
        mine = self._in_use()
        assert self._fingerprint is not None
        rows = finite(vectors, self._fingerprint.dim)
        for record in records:
            record_id(record.key)  # raises for a key without a scope
        for record, row in zip(records, rows, strict=True):
            mine[record.key] = record, row

    def drop(self, keys: Collection[Key] | None) -> None:
        self._check()
        if keys is None:
            self.disk.collections.clear()
            return
        for rows in list(self.disk.collections.values()):
            for key in keys:
                rows.pop(key, None)

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        mine, arrays = self._in_use(), VectorArrays()
        assert self._fingerprint is not None
        finite([vector], self._fingerprint.dim)
        for record, row in mine.copy().values():
            arrays.put([record], row[None])
        return arrays.nearest(vector, scope_filter, k)

    def close(self) -> None:
        self._closed = True

    def _check(self) -> None:
        if self._closed:
            raise IndexUnavailable("closed", code="closed")
        if self.fault is not None:
            raise self.fault

    def _in_use(self) -> Rows:
        self._check()
        if self._fingerprint is None:
            raise IndexUnavailable("nothing was loaded", code="closed")
        return self.disk.collections.setdefault(self._fingerprint, {})
