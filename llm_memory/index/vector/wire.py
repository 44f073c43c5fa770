"""A store's arguments and answers as they cross to the process that holds Chroma, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...models.key import Key
from ...models.scope import Scope, ScopeFilter
from ...models.shelf import Shelf
from ..embedding.ports import Fingerprint, Vectors
from ..ports import IndexRecord, Neighbour, Neighbours

if TYPE_CHECKING:
    import numpy as np

type Said = Any
"""What JSON can say."""


def fingerprint_to_wire(fingerprint: Fingerprint) -> Said:
    return [fingerprint.model, fingerprint.dim, fingerprint.revision]


def fingerprint_from_wire(said: Said) -> Fingerprint:
    return Fingerprint(*said)


def keys_to_wire(keys: Sequence[Key]) -> Said:
    return [[key.scope, key.memory_id] for key in keys]


def keys_from_wire(said: Said) -> list[Key]:
    return [Key(*key) for key in said]


def hashes_to_wire(hashes: Mapping[Key, str]) -> Said:
    return [[key.scope, key.memory_id, content_hash] for key, content_hash in hashes.items()]


def hashes_from_wire(said: Said) -> dict[Key, str]:
    return {Key(scope, memory_id): content_hash for scope, memory_id, content_hash in said}


def records_to_wire(records: Sequence[IndexRecord]) -> Said:
    # Without the text: it is not stored.
    return [[r.key.scope, r.key.memory_id, r.content_hash, dict(r.metadata)] for r in records]


def records_from_wire(said: Said) -> list[IndexRecord]:
    return [
        IndexRecord(Key(scope, memory_id), "", content_hash, metadata)
        for scope, memory_id, content_hash, metadata in said
    ]


def filter_to_wire(scope_filter: ScopeFilter) -> Said:
    """Raises TypeError for what is no filter: nothing else may decide who reads what."""
    if type(scope_filter) is not ScopeFilter or type(scope_filter.everything) is not bool:
        raise TypeError(f"not a scope filter: {type(scope_filter).__name__}")
    if any(type(scope) is not Scope for scope in scope_filter.scopes):
        raise TypeError("a scope filter is made of Scope values only")
    if any(type(shelf) is not Shelf for shelf in scope_filter.shelves):
        raise TypeError("a scope filter's shelves are Shelf values only")
    return {
        "scopes": [scope.name for scope in scope_filter.scopes],
        "everything": scope_filter.everything,
        "shelves": [shelf.name for shelf in scope_filter.shelves],
    }


def filter_from_wire(said: Said) -> ScopeFilter:
    scopes = tuple(Scope.parse(name, derived=True) for name in said["scopes"])
    return ScopeFilter(
        scopes,
        everything=said["everything"],
        shelves=tuple(_shelf_from_wire(name) for name in said["shelves"]),
    )


def _shelf_from_wire(name: str) -> Shelf:
    shelf = Shelf.named(name)
    if shelf is None:
        raise ValueError(f"no shelf: {name!r}")
    return shelf


def neighbours_to_wire(neighbours: Neighbours) -> Said:
    found = [[n.key.scope, n.key.memory_id, n.similarity] for n in neighbours.found]
    return {"found": found, "dropped": neighbours.dropped}


def neighbours_from_wire(said: Said) -> Neighbours:
    found = tuple(
        Neighbour(Key(scope, memory_id), similarity)
        for scope, memory_id, similarity in said["found"]
    )
    return Neighbours(found, said["dropped"])


def rows_to_wire(vectors: Vectors | Sequence[Any]) -> tuple[list[int], bytes]:
    """Shape and bytes, float32."""
    import numpy as np

    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    return list(rows.shape), rows.tobytes()


def rows_from_wire(shape: Sequence[int], body: bytes) -> np.ndarray[Any, np.dtype[np.float32]]:
    import numpy as np

    return np.frombuffer(body, dtype=np.float32).reshape(shape)
