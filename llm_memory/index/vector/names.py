"""How our things are called inside Chroma: collections by fingerprint, records by key."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Final

from ...models.passages import Key
from ..embedding.ports import Fingerprint

PREFIX: Final = "memories-"

_READABLE_LENGTH: Final = 64
_HASH_LENGTH: Final = 16
_OWNER_LENGTH: Final = 12
_TAIL: Final = re.compile(r"-(\d+)-[0-9a-f]{16}", re.ASCII)


def collection_name(fingerprint: Fingerprint, owner: str = "") -> str:
    """``memories-<model>-<dim>-<hash>``, of ``[a-zA-Z0-9-]`` only. Where there is an owner, the
    beginning of its id stands before the model.

    The model's name is there for people; the hash tells two fingerprints apart.
    """
    readable = re.sub(r"[^a-zA-Z0-9]+", "-", fingerprint.model)[:_READABLE_LENGTH].strip("-")
    identity = json.dumps([fingerprint.model, fingerprint.dim, fingerprint.revision])
    digest = hashlib.sha256(identity.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{prefix_of(owner)}{readable or 'model'}-{fingerprint.dim}-{digest}"


def prefix_of(owner: str) -> str:
    """What the names of an owner's collections begin with."""
    return f"{PREFIX}{owner[:_OWNER_LENGTH]}-" if owner else PREFIX


def dimension_of(collection: str) -> int | None:
    """The length of a vector that a collection's name promises; None for a foreign name."""
    tail = _TAIL.search(collection)
    return int(tail[1]) if tail and tail.end() == len(collection) else None


def record_id(key: Key) -> str:
    """``<scope>/<memory_id>``: no scope holds a ``/``, so no two keys share an id.

    Ids of foreign form, which only :func:`parse_id` makes keys of, come back as they were.

    Raises:
        ValueError: the key has no scope.
    """
    if not key.scope and _is_foreign(key.memory_id):
        return key.memory_id
    if not key.scope or "/" in key.scope or not key.memory_id:
        raise ValueError(f"no key of the index: {key}")
    return f"{key.scope}/{key.memory_id}"


def parse_id(identifier: str) -> Key:
    """The key of a record. An id that is not ours has no scope: no reader sees it."""
    if _is_foreign(identifier):
        return Key("", identifier)
    scope, _, memory_id = identifier.partition("/")
    return Key(scope, memory_id)


def _is_foreign(identifier: str) -> bool:
    scope, _, memory_id = identifier.partition("/")
    return bool(identifier) and not (scope and memory_id)
