"""How our things are called and kept inside Chroma, and the check that every answer passes.

No text of a memory is stored: the vault has it, and what was forgotten leaves no words behind.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ...errors import IndexUnavailable
from ...models.passages import Key
from ...models.scope import MARKER_FIELD, SCOPE_FIELD, ScopeFilter
from ..arrays import np
from ..child.program import Json
from ..embedding.ports import Fingerprint
from ..ports import BROKEN, IndexRecord, Neighbour, Neighbours, Page

if TYPE_CHECKING:
    from ..embedding.ports import Vectors

PREFIX: Final = "memories-"
_SIGNED: Final = 64
"""Numbers whose signs are kept beside a vector: they tell that a graph's file has another."""


def collection_name(fingerprint: Fingerprint, owner: str = "") -> str:
    """``memories-<dim>-<hash>``: the hash tells embedders and installations apart. The model's name
    is in the metadata."""
    identity = json.dumps([fingerprint.model, fingerprint.dim, fingerprint.revision, owner])
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return f"{PREFIX}{fingerprint.dim}-{digest}"


def is_ours(collection: Mapping[str, Json], owner: str) -> bool:
    """By its name **and** by the ``owner`` in its metadata."""
    about = collection["metadata"]
    told = about.get("owner", "") if isinstance(about, dict) else ""
    return str(collection["name"]).startswith(PREFIX) and told == owner


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
    # There are few scopes: each record with a text of its own would take a twentieth more.
    return Key(sys.intern(scope), memory_id) if scope and memory_id else Key("", identifier)


def stored_metadata(records: Iterable[IndexRecord], rows: Vectors) -> list[Json]:
    """Of each record. All fields are always there: Chroma would merge them with older ones."""
    return [
        {
            SCOPE_FIELD: record.key.scope,
            MARKER_FIELD: 1,
            "content_hash": record.content_hash,
            "plain": base64.b64encode(record.plain).decode(),
            "signs": signs,
        }
        for record, signs in zip(records, _signs(rows), strict=True)
    ]


def _signs(rows: Vectors) -> list[str]:
    """Empty for a vector that is not of length one."""
    with np.errstate(over="ignore", invalid="ignore"):
        sound = np.abs(np.linalg.norm(rows, axis=1) - 1.0) < 1e-3  # false for what is no number
    packed = np.packbits(rows[:, :_SIGNED] > 0, axis=1)
    return [row.tobytes().hex() if s else "" for row, s in zip(packed, sound, strict=True)]


def sound_page(
    ids: Sequence[str], metadatas: Iterable[Json], raw: bytes, dim: int
) -> tuple[Page, set[str]]:
    """The records, and the ids of those that are odd: without a scope, of another one than its id
    says, or beside a vector that is not its own. ``dim`` is 0 where no vectors were asked for.

    Raises IndexUnavailable: vectors are missing.
    """
    try:
        told = [_record(*one) for one in zip(ids, metadatas, strict=True)]
        rows = np.frombuffer(raw, dtype="<f4").reshape(len(ids), dim) if dim else None
    except ValueError as error:
        raise IndexUnavailable(f"a page of {len(ids)}: {error}", code=BROKEN) from error
    own = [signs for _, signs in told] if rows is None else _signs(rows)
    sound = [at for at, (_, signs) in enumerate(told) if signs and signs == own[at]]
    page = [told[at][0] for at in sound], None if rows is None else rows[sound]
    return page, {*ids} - {ids[at] for at in sound}


def _record(identifier: str, metadata: Json) -> tuple[IndexRecord, Json]:
    """And the signs of its vector; none of a record that is odd."""
    key, about = parse_id(identifier), metadata if isinstance(metadata, dict) else {}
    content_hash, plain = about.get("content_hash"), about.get("plain")
    if isinstance(content_hash, str) and isinstance(plain, str) and _is_of(key, about):
        with contextlib.suppress(ValueError):
            kept = base64.b64decode(plain, validate=True)
            return IndexRecord(key, content_hash, kept), about.get("signs")
    return IndexRecord(key, ""), None


def _is_of(key: Key, metadata: Mapping[str, Json]) -> bool:
    """Its stored scope is a text **and** the one that its id was written under: one changed field
    publishes nothing."""
    return bool(key.scope) and metadata.get(SCOPE_FIELD) == key.scope


def visible(
    ids: Iterable[Json], metadatas: Iterable[Json], distances: Iterable[Json], seen: ScopeFilter
) -> Neighbours:
    """The second check, default deny: what Chroma returned, less what the reader may not see. The
    order stays."""
    found: list[Neighbour] = []
    dropped = 0
    for identifier, metadata, distance in zip(ids, metadatas, distances, strict=True):
        (key, _, plain), _ = _record(str(identifier), metadata)
        known = isinstance(metadata, dict) and _is_of(key, metadata) and seen.admits(key.scope)
        # False for a distance that is no number, too.
        if known and isinstance(distance, float | int) and -0.001 <= distance <= 2.001:
            found.append(Neighbour(key, min(1.0, max(-1.0, 1.0 - distance)), plain))
        else:
            dropped += 1
    return Neighbours(tuple(found), dropped)
