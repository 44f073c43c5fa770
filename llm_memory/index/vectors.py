"""The vectors that are searched: a matrix for each place, and an exact search in those of a filter.

A place that is not in the filter is not looked at.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import batched
from mmap import mmap
from typing import TYPE_CHECKING

from ..errors import IndexUnavailable
from ..models.passages import Key
from ..models.scope import ScopeFilter
from ..runtime.cooperative import cooperative
from .chroma.scope_where import scope_where
from .ports import IndexRecord, Neighbour, Neighbours

if TYPE_CHECKING:
    from .embedding.ports import Vector, Vectors


class VectorArrays:
    """Thread-safe. Every method blocks, for milliseconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: dict[str, _Matrix] = {}

    def __len__(self) -> int:
        return sum(len(matrix.keys) for matrix in list(self._places.values()))

    @property
    def nbytes(self) -> int:
        """Of all vectors."""
        return sum(matrix.used.nbytes for matrix in list(self._places.values()))

    def put(self, records: Sequence[IndexRecord], rows: Vectors) -> None:
        """Add or replace by key. Raises IndexUnavailable for vectors that cannot be compared."""
        for record, row in zip(records, finite(rows, self._dim(rows)), strict=True):
            with self._lock:
                place = self._places.get(record.key.scope)
                if place is None:
                    place = self._places[record.key.scope] = _Matrix(len(row))
                place.put(record, row)

    def drop(self, keys: Iterable[Key]) -> None:
        """Unknown ones are ignored."""
        for key in keys:
            with self._lock:
                place = self._places.get(key.scope)
                if place is not None and not place.drop(key):
                    del self._places[key.scope]

    def hashes(self) -> dict[Key, str]:
        """The content hash of each record."""
        with self._lock:
            places = [(place.keys.copy(), place.hashes.copy()) for place in self._places.values()]
        return dict(cooperative(pair for place in places for pair in zip(*place, strict=True)))

    def nearest(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        """The ``k`` nearest of all that the filter admits, exactly. Raises IndexUnavailable."""
        import numpy as np

        scope_where(scope_filter)  # raises TypeError for what is no filter of validated places
        if k <= 0 or not self._places:
            return Neighbours(())
        wanted = finite([vector], self._dim())[0]
        keys: list[Key] = []
        near: list[Vector] = []
        with self._lock:
            names = self._places if scope_filter.everything else scope_filter.names
            for name in dict.fromkeys(names):
                if scope_filter.admits(name) and (place := self._places.get(name)) is not None:
                    similar, chosen = place.nearest(wanted, k)
                    near.append(similar)
                    keys += [place.keys[at] for at in chosen]
        if not near:
            return Neighbours(())
        similar = np.concatenate(near).clip(-1.0, 1.0)
        best = np.argsort(-similar, kind="stable")[:k]
        found = map(Neighbour, [keys[at] for at in best.tolist()], similar[best].tolist())
        visible = tuple(one for one in found if scope_filter.admits(one.key.scope))
        return Neighbours(visible, len(best) - len(visible))

    def plain(self, keys: Iterable[Key]) -> dict[Key, Vector]:
        """What the texts alone say, of those that are known: without the questions they answer."""
        import numpy as np

        found: dict[Key, Vector] = {}
        for key in keys:
            with self._lock:
                place = self._places.get(key.scope)
                at = None if place is None else place.at.get(key)
                if place is not None and at is not None:
                    plain = place.plain.get(key)
                    row = np.frombuffer(plain, dtype="<f2") if plain else place.rows[at]
                    found[key] = row.astype(np.float32)
        return found

    def pages(self, size: int) -> Iterator[tuple[list[IndexRecord], Vectors]]:
        """Copies of all that is there; what is dropped meanwhile may be left out."""
        import numpy as np

        with self._lock:
            keys = [key for place in self._places.values() for key in place.keys]
        for some in batched(keys, size):
            with self._lock:
                found = [
                    (place.record(at), place.rows[at].copy())
                    for key in some
                    if (place := self._places.get(key.scope)) is not None
                    and (at := place.at.get(key)) is not None
                ]
            if found:
                yield [record for record, _ in found], np.stack([row for _, row in found])

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._places = {}

    def _dim(self, rows: Vectors | None = None) -> int | None:
        """The length of the vectors that are here, or else of these."""
        for place in list(self._places.values()):
            return int(place.rows.shape[1])
        return None if rows is None or len(rows) == 0 else int(rows.shape[-1])


class _Matrix:
    """One place's vectors, and of what each row is. Records lie apart: together they would take as
    much again as a third of a small model's vectors."""

    def __init__(self, dim: int) -> None:
        self.at: dict[Key, int] = {}
        self.keys: list[Key] = []
        self.hashes: list[str] = []
        self.plain: dict[Key, bytes] = {}
        self.rows: Vectors = _empty(4, dim)

    @property
    def used(self) -> Vectors:
        return self.rows[: len(self.keys)]

    def record(self, at: int) -> IndexRecord:
        key = self.keys[at]
        return IndexRecord(key, self.hashes[at], self.plain.get(key, b""))

    def put(self, record: IndexRecord, row: Vector) -> None:
        size = len(self.keys)
        at = self.at.setdefault(record.key, size)
        if at < size:
            self.hashes[at] = record.content_hash
        else:
            if size == len(self.rows):  # by a sixteenth: memory that is not written to is not taken
                rows = _empty(size + size // 16 + 4, self.rows.shape[1])
                rows[:size] = self.used
                self.rows = rows
            self.keys.append(record.key)
            self.hashes.append(record.content_hash)
        self.rows[at] = row
        self.plain.pop(record.key, None)
        if record.plain:
            self.plain[record.key] = record.plain

    def drop(self, key: Key) -> bool:
        """The last one takes its place. False if none is left."""
        at = self.at.pop(key, None)
        if at is not None:
            self.plain.pop(key, None)
            last, last_hash = self.keys.pop(), self.hashes.pop()
            if last != key:
                self.at[last] = at
                self.keys[at], self.hashes[at] = last, last_hash
                self.rows[at] = self.rows[len(self.keys)]
        return bool(self.keys)

    def nearest(self, vector: Vector, k: int) -> tuple[Vector, list[int]]:
        """The similarities of ``k`` rows or fewer, and their numbers, in no order."""
        import numpy as np

        # Not ``@``: the threads of its library wait for each other, where the processor is busy for
        # 20 ms in place of half a millisecond.
        similar = np.einsum("ij,j->i", self.used, vector)
        if k >= len(similar):
            return similar, list(range(len(similar)))
        chosen = similar.argpartition(-k)[-k:]
        return similar[chosen], chosen.tolist()


def _empty(size: int, dim: int) -> Vectors:
    """Memory of its own, which the system gets back whole."""
    import numpy as np

    return np.frombuffer(mmap(-1, 4 * size * dim), dtype=np.float32).reshape(size, dim)


def finite(rows: Vectors | Sequence[Vector], dim: int | None) -> Vectors:
    """As float32, shape ``(n, dim)``. Raises IndexUnavailable: a NaN would spoil its neighbours."""
    import numpy as np

    found = np.asarray(rows, dtype=np.float32)
    if len(found) and (found.ndim != 2 or not found.shape[1] or found.shape[1] != dim):
        raise IndexUnavailable(f"vectors of shape {found.shape}, dimension {dim}")
    if not np.isfinite(found).all():
        raise IndexUnavailable("vectors that are not finite")
    return found
