"""The calls that a collection gets, each with the arguments that matter and typed answers.

The collection comes last, so that a store can bind the rest and try again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from ...models.passages import Key
from ..chroma.scope_where import Condition
from ..embedding.ports import Vector
from .names import parse_id
from .records import Answer, Value

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection
    from chromadb.api.types import Metadatas, Where


def replace(
    ids: list[str],
    metadatas: Sequence[Mapping[str, Value]],
    vectors: list[Vector],
    collection: Collection,
) -> None:
    """Write records; nothing of an earlier record under the same id remains.

    Chroma would merge the metadata key by key, and ``add`` ignore an id that it has.
    """
    earlier = collection.get(ids=ids, include=["metadatas"])
    stale = {
        identifier: dict.fromkeys(metadata)
        for identifier, metadata in zip(earlier["ids"], earlier["metadatas"] or (), strict=True)
        if metadata
    }
    merged = [
        {**stale.get(identifier, {}), **metadata}  # None removes a key
        for identifier, metadata in zip(ids, metadatas, strict=True)
    ]
    collection.upsert(ids=ids, embeddings=list(vectors), metadatas=cast("Metadatas", merged))


def remove(ids: list[str], collection: Collection) -> None:
    """Delete by id. Unknown ids are ignored."""
    collection.delete(ids=ids)


def listed(
    offset: int, limit: int, collection: Collection
) -> list[tuple[Key, Mapping[str, object] | None]]:
    """A page of keys and metadata, in the order of storage."""
    page = collection.get(limit=limit, offset=offset, include=["metadatas"])
    return [
        (parse_id(identifier), metadata)
        for identifier, metadata in zip(page["ids"], page["metadatas"] or (), strict=True)
    ]


def nearest(
    vector: Vector, where: Mapping[str, Condition], limit: int, collection: Collection
) -> list[Answer]:
    """At most ``limit`` records that match, by rising distance, **unchecked**."""
    answer = collection.query(
        query_embeddings=[vector],
        n_results=limit,
        where=cast("Where", where),
        include=["metadatas", "distances"],
    )
    metadatas, distances = answer["metadatas"] or [[]], answer["distances"] or [[]]
    return list(zip(answer["ids"][0], metadatas[0], distances[0], strict=True))


def neighbourhood(vector: Vector, limit: int, collection: Collection) -> list[tuple[str, float]]:
    """Ids and distances of the nearest ``limit`` records, of any reader."""
    answer = collection.query(query_embeddings=[vector], n_results=limit, include=["distances"])
    distances = answer["distances"] or [[]]
    return list(zip(answer["ids"][0], distances[0], strict=True))


def metadata_of(ids: list[str], collection: Collection) -> dict[str, Mapping[str, object] | None]:
    """By id, of those that are still there."""
    found = collection.get(ids=ids, include=["metadatas"])
    return dict(zip(found["ids"], found["metadatas"] or (), strict=True))


def matching(where: Mapping[str, Condition], limit: int, collection: Collection) -> int:
    """How many records match; ``limit`` where there are so many or more."""
    return len(collection.get(where=cast("Where", where), limit=limit, include=[])["ids"])


def measured(
    vector: Vector, where: Mapping[str, Condition], limit: int, collection: Collection
) -> list[Answer]:
    """The first ``limit`` records that match, in the order of storage, their distances worked out
    one by one, **unchecked**."""
    import numpy as np

    found = collection.get(
        where=cast("Where", where), limit=limit, include=["metadatas", "embeddings"]
    )
    if not found["ids"]:
        return []
    rows = np.asarray(found["embeddings"], dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(vector)
    distances = 1.0 - rows @ vector / np.maximum(lengths, np.finfo(np.float32).tiny)
    return list(zip(found["ids"], found["metadatas"] or (), distances.tolist(), strict=True))
