"""What a record holds in Chroma, and the check that every answer passes.

No text of a memory is stored: the vault has it, an index without it is smaller, and what was
forgotten leaves no words behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ...models.passages import Key
from ...models.scope import MARKER_FIELD, SCOPE_FIELD, ScopeFilter
from .names import parse_id
from .ports import IndexRecord, Neighbour, Neighbours

HASH_FIELD: Final = "content_hash"

type Value = str | int | float | bool
type Answer = tuple[str, Mapping[str, object] | None, float]
"""Id, metadata, cosine distance, as Chroma returned them."""


def stored_metadata(record: IndexRecord) -> dict[str, Value]:
    """The metadata of a record. Scope and hash come from the record, whatever else it says."""
    metadata: dict[str, Value] = {name: _clean(v) for name, v in record.metadata.items()}
    metadata[SCOPE_FIELD] = record.key.scope
    metadata[MARKER_FIELD] = 1
    metadata[HASH_FIELD] = record.content_hash
    return metadata


def _clean(value: Value) -> Value:
    # Half a surrogate pair, as chat programs make them, would refuse the whole batch.
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def visible(answer: Iterable[Answer], scope_filter: ScopeFilter) -> Neighbours:
    """The second check, default deny: what Chroma returned, less what the reader may not see.

    A record passes if its stored scope is a text that the filter admits **and** the scope that
    its id was written under: one changed field publishes nothing.
    The order stays.
    """
    found: list[Neighbour] = []
    dropped = 0
    for identifier, metadata, distance in answer:
        key = parse_id(identifier)
        scope = metadata.get(SCOPE_FIELD) if metadata else None
        near = -0.001 <= distance <= 2.001  # false for a distance that is no number, too
        if near and isinstance(scope, str) and scope == key.scope and scope_filter.admits(scope):
            found.append(Neighbour(key, min(1.0, max(-1.0, 1.0 - distance))))
        else:
            dropped += 1
    return Neighbours(tuple(found), dropped)


def sound_hash(key: Key, metadata: Mapping[str, object] | None) -> str:
    """The record's content hash; empty, so that it is written again, if the record lies."""
    if metadata is None or metadata.get(SCOPE_FIELD) != key.scope:
        return ""
    content_hash = metadata.get(HASH_FIELD)
    return content_hash if isinstance(content_hash, str) else ""
