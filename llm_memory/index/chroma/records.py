"""How our things are called and kept inside Chroma, and the check that every answer passes.

No text of a memory is stored: the vault has it, and what was forgotten leaves no words behind.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from ...models.passages import Key
from ...models.scope import MARKER_FIELD, SCOPE_FIELD, ScopeFilter
from ..child.program import Json
from ..embedding.ports import Fingerprint
from ..ports import IndexRecord, Neighbour, Neighbours

if TYPE_CHECKING:
    from ..embedding.ports import Vectors

PREFIX: Final = "memories-"
SPACE: Final = "cosine"
USED: Final = "used"
"""In a collection's metadata: the greatest number is of the collection that was loaded last."""
_OWNER: Final = "owner"
_HASH_FIELD: Final = "content_hash"
_PLAIN_FIELD: Final = "plain"
_SIGNS_FIELD: Final = "signs"
_SIGNED: Final = 64
_READABLE_LENGTH: Final = 64
_OWNER_LENGTH: Final = 12
_TAIL: Final = re.compile(r"-(\d+)-[0-9a-f]{16}", re.ASCII)

type Described = Mapping[str, Json]
"""A collection as the program lists it: ``name``, ``metadata``, ``space``."""


def collection_name(fingerprint: Fingerprint, owner: str = "") -> str:
    """``memories-<model>-<dim>-<hash>``, of ``[a-zA-Z0-9-]`` only. Where there is an owner, the
    beginning of its id stands before the model.

    The model's name is there for people; the hash tells two fingerprints apart.
    """
    readable = re.sub(r"[^a-zA-Z0-9]+", "-", fingerprint.model)[:_READABLE_LENGTH].strip("-")
    identity = json.dumps([fingerprint.model, fingerprint.dim, fingerprint.revision])
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return f"{_prefix(owner)}{readable or 'model'}-{fingerprint.dim}-{digest}"


def _prefix(owner: str) -> str:
    return f"{PREFIX}{owner[:_OWNER_LENGTH]}-" if owner else PREFIX


def collection_metadata(fingerprint: Fingerprint, owner: str, used: int) -> dict[str, Json]:
    """For people to read what it is for, and for ``is_ours``."""
    about = {**asdict(fingerprint), USED: used}
    return {**about, _OWNER: owner} if owner else about


def is_ours(collection: Described, owner: str) -> bool:
    """Made by us, for what its name says. In a folder there is no owner, and nobody else."""
    name, about = str(collection["name"]), collection["metadata"]
    tail = _TAIL.search(name)
    if not (name.startswith(_prefix(owner)) and tail and tail.end() == len(name)):
        return False
    if not isinstance(about, dict) or about.get("dim") != int(tail[1]):
        return False
    return collection["space"] == SPACE and about.get(_OWNER, "") == owner


def record_id(key: Key) -> str:
    """``<scope>/<memory_id>``: no scope holds a ``/``, so no two keys share an id.

    Raises ValueError for a key without a scope.
    """
    if not key.scope or "/" in key.scope or not key.memory_id:
        raise ValueError(f"no key of the index: {key}")
    return f"{key.scope}/{key.memory_id}"


def parse_id(identifier: str) -> Key:
    """The key of a record. An id that is not ours has no scope: no reader sees it."""
    scope, _, memory_id = identifier.partition("/")
    return Key(scope, memory_id) if scope and memory_id else Key("", identifier)


def stored_metadata(records: Iterable[IndexRecord], rows: Vectors) -> list[Json]:
    """Of each record. All fields are always there: Chroma would merge them with older ones."""
    return [
        {
            SCOPE_FIELD: record.key.scope,
            MARKER_FIELD: 1,
            _HASH_FIELD: record.content_hash,
            _PLAIN_FIELD: base64.b64encode(record.plain).decode(),
            _SIGNS_FIELD: signs,
        }
        for record, signs in zip(records, _signs(rows), strict=True)
    ]


def _signs(rows: Vectors) -> list[str]:
    """Of a vector's first numbers: enough to tell that a graph's file holds another one."""
    import numpy as np

    return [row.tobytes().hex() for row in np.packbits(rows[:, :_SIGNED] > 0, axis=1)]


def sound_records(
    ids: Iterable[str], metadatas: Iterable[object], rows: Vectors | None
) -> list[IndexRecord | None]:
    """None for a record that is odd: without a scope, of another one than its id says, or beside a
    vector that is not its own."""
    import numpy as np

    signs: list[str | None] = []
    if rows is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            near = np.abs(np.linalg.norm(rows, axis=1) - 1.0) < 1e-3  # false for what is no number
        signs = [s if sound else "" for s, sound in zip(_signs(rows), near, strict=True)]
    found = zip(ids, metadatas, strict=True)
    return [_record(*one, signs[at] if signs else None) for at, one in enumerate(found)]


def _record(identifier: str, metadata: object, signs: str | None) -> IndexRecord | None:
    key = parse_id(identifier)
    if not isinstance(metadata, dict) or not key.scope or metadata.get(SCOPE_FIELD) != key.scope:
        return None
    content_hash, plain = metadata.get(_HASH_FIELD), metadata.get(_PLAIN_FIELD)
    if not (isinstance(content_hash, str) and isinstance(plain, str)):
        return None
    if signs is not None and not _alike(signs, metadata.get(_SIGNS_FIELD)):
        return None
    try:
        return IndexRecord(key, content_hash, base64.b64decode(plain, validate=True))
    except binascii.Error:
        return None


def _alike(signs: str, stored: object) -> bool:
    """Chroma brings a vector to length one again, which may turn a number at zero."""
    if not signs or not isinstance(stored, str) or len(stored) != len(signs):
        return False
    return signs == stored or (int(signs, 16) ^ int(stored, 16)).bit_count() <= 2


def visible(
    ids: Iterable[str], metadatas: Iterable[object], distances: Iterable[float], seen: ScopeFilter
) -> Neighbours:
    """The second check, default deny: what Chroma returned, less what the reader may not see.

    A record passes if its stored scope is a text that the filter admits **and** the scope that
    its id was written under: one changed field publishes nothing. The order stays.
    """
    found: list[Neighbour] = []
    dropped = 0
    for identifier, metadata, distance in zip(ids, metadatas, distances, strict=True):
        key = parse_id(identifier)
        scope = metadata.get(SCOPE_FIELD) if isinstance(metadata, Mapping) else None
        near = -0.001 <= distance <= 2.001  # false for a distance that is no number, too
        if near and isinstance(scope, str) and scope == key.scope and seen.admits(scope):
            found.append(Neighbour(key, min(1.0, max(-1.0, 1.0 - distance))))
        else:
            dropped += 1
    return Neighbours(tuple(found), dropped)
