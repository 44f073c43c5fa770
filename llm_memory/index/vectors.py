"""The vectors that are searched: a matrix for each place, and an exact search in those of a filter.

A place that is not in the filter is not looked at.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, batched
from mmap import mmap
from typing import TYPE_CHECKING

from ..errors import IndexUnavailable
from ..models.passages import Key
from ..models.scope import ScopeFilter
from .arrays import np
from .chroma.scope_where import scope_where
from .ports import IndexRecord, Neighbour, Neighbours

if TYPE_CHECKING:
    from .embedding.ports import Vector, Vectors


class VectorArrays:
    """Thread-safe. Every method blocks, for milliseconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: defaultdict[str, _Matrix] = defaultdict(_Matrix)
        self._dim = 0
        """The length of a vector; 0 before there is one."""

    @property
    def nbytes(self) -> int:
        """Of all vectors."""
        return 4 * self._dim * sum(len(place.records) for place in list(self._places.values()))

    def put(self, records: Sequence[IndexRecord], rows: Vectors) -> None:
        """Add or replace by key. Raises IndexUnavailable for vectors that cannot be compared."""
        self._dim = self._dim or rows.shape[-1]
        for record, row in zip(records, finite(rows, self._dim), strict=True):
            with self._lock:
                self._places[record.key.scope].put(record, row)

    def drop(self, keys: Iterable[Key]) -> None:
        """Unknown ones are ignored."""
        for key in keys:
            with self._lock:
                if key.scope in self._places:
                    self._places[key.scope].drop(key)

    def nearest(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        """The ``k`` nearest of all that the filter admits, exactly. Raises IndexUnavailable."""
        scope_where(scope_filter)  # raises TypeError for what is no filter of validated places
        if not self._dim:
            return Neighbours(())
        wanted = finite([vector], self._dim)[0]
        with self._lock:
            names = self._places if scope_filter.everything else dict.fromkeys(scope_filter.names)
            seen = [self._places[n] for n in names if n in self._places and scope_filter.admits(n)]
            firsts = [0, *accumulate(len(place.records) for place in seen)]
            similar = np.concatenate([wanted[:0], *(place.similar(wanted) for place in seen)])
            best = similar.argpartition(-k)[-k:] if k < len(similar) else np.arange(len(similar))
            best = best[np.argsort(-similar[best], kind="stable")]
            places = [(at, bisect_right(firsts, at) - 1) for at in best.tolist()]
            near = [seen[place].records[at - firsts[place]] for at, place in places]
        found = zip(near, similar[best].clip(-1.0, 1.0).tolist(), strict=True)
        return Neighbours(tuple(Neighbour(one.key, cosine, one.plain) for one, cosine in found))

    def plain(self, keys: Iterable[Key]) -> dict[Key, Vector]:
        """What the texts alone say, of those that are known: without the questions they answer."""
        with self._lock:
            return {
                key: (np.frombuffer(one.plain, "<f2") if one.plain else row).astype(np.float32)
                for key in keys
                for one, row in self._held(key)
            }

    def pages(self, size: int) -> Iterator[tuple[list[IndexRecord], Vectors]]:
        """Copies of all that is there; what is dropped meanwhile may be left out."""
        with self._lock:
            keys = [record.key for place in self._places.values() for record in place.records]
        for some in batched(keys, size):
            with self._lock:
                found = [held for key in some for held in self._held(key)]
                rows = np.array([row for _, row in found])
            if found:
                yield [record for record, _ in found], rows

    def _held(self, key: Key) -> Iterator[tuple[IndexRecord, Vector]]:
        """The record, if it is known, and its row as long as the lock is held."""
        if key.scope in self._places and key in (place := self._places[key.scope]).at:
            yield place.records[place.at[key]], place.rows[place.at[key]]


class _Matrix:
    """One place's records, and their vectors in the same order."""

    def __init__(self) -> None:
        self.at: dict[Key, int] = {}
        self.records: list[IndexRecord] = []
        self.rows: Vectors = np.empty((0, 0), dtype=np.float32)

    def put(self, record: IndexRecord, row: Vector) -> None:
        at = self.at.setdefault(record.key, len(self.records))
        if at == len(self.rows):  # by a sixteenth: memory that is not written to is not taken
            shape = at + at // 16 + 4, len(row)
            # Of its own: the system gets it back whole.
            rows = np.frombuffer(mmap(-1, 4 * shape[0] * shape[1]), np.float32).reshape(shape)
            rows[:at] = self.rows.reshape(at, len(row))
            self.rows = rows
        self.records[at : at + 1] = [record]
        self.rows[at] = row

    def drop(self, key: Key) -> None:
        """The last one takes its place."""
        if (at := self.at.pop(key, None)) is None:
            return
        last = self.records.pop()
        if at < len(self.records):
            self.records[at], self.at[last.key] = last, at
            self.rows[at] = self.rows[len(self.records)]

    def similar(self, vector: Vector) -> Vector:
        """To each row."""
        # A row at a time, on this thread: ``rows @ vector`` starts threads, which wait for each
        # other for 20 ms where the processor is busy.
        rows = self.rows[: len(self.records), np.newaxis]
        found: Vector = np.matmul(rows, vector[:, np.newaxis]).ravel()
        return found


def finite(rows: Vectors | Sequence[Vector], dim: int) -> Vectors:
    """As float32, shape ``(n, dim)``. Raises IndexUnavailable: a NaN would spoil its neighbours."""
    found = np.asarray(rows, dtype=np.float32)
    if len(found) and (found.ndim != 2 or not found.shape[1] or found.shape[1] != dim):
        raise IndexUnavailable(f"vectors of shape {found.shape}, dimension {dim}")
    if not np.isfinite(found).all():
        raise IndexUnavailable("vectors that are not finite")
    return found
