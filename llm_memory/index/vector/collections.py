"""Our collections among those that a Chroma holds: named, described, and told from others'."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Final, Protocol

from ...errors import IndexUnavailable
from ..embedding.ports import Fingerprint
from .names import PREFIX, dimension_of, prefix_of

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

    from .connection import Client

OWNER: Final = "owner"
FOREIGN: Final = "foreign_collection"
SPACE: Final = "cosine"
HNSW: Final = {"space": SPACE, "sync_threshold": 100, "ef_construction": 40, "ef_search": 200}
"""``ef_construction`` below Chroma's 100: a third less time in a write, which holds the GIL, for
0.2 points of recall@10."""


class Described(Protocol):
    """A collection as a list of them shows it."""

    @property
    def name(self) -> str: ...

    @property
    def metadata(self) -> Mapping[str, object] | None: ...

    @property
    def configuration_json(self) -> Mapping[str, object]: ...


def ours(collection: Described, owner: str) -> bool:
    """Made by us, for what its name says. Where there is no owner, no other program is there."""
    if not owner:
        return collection.name.startswith(PREFIX)
    about = collection.metadata or {}
    hnsw = collection.configuration_json.get("hnsw")
    return (
        collection.name.startswith(prefix_of(owner))
        and about.get(OWNER) == owner
        and about.get("dim") == dimension_of(collection.name)
        and isinstance(hnsw, Mapping)
        and hnsw.get("space") == SPACE
    )


def our_names(client: Client, owner: str) -> set[str]:
    """The names of our collections."""
    return {found.name for found in client.list_collections() if ours(found, owner)}


def existing(client: Client, name: str, owner: str) -> Collection | None:
    """Our collection of that name, None where there is none.

    Raises:
        IndexUnavailable: ``foreign_collection``, there is one that is not ours.
    """
    for found in client.list_collections():
        if found.name == name:
            if not ours(found, owner):
                raise IndexUnavailable(f"the collection is somebody else's: {name}", code=FOREIGN)
            # Without an embedding function: the default one fetches a model.
            return client.get_collection(name, embedding_function=None)
    return None


def made(client: Client, name: str, owner: str, fingerprint: Fingerprint | None) -> Collection:
    """A new collection of that name. Beside it stands, for people to read, what it is for."""
    known = asdict(fingerprint) if fingerprint is not None else {}
    about: dict[str, str | int] = {"dim": dimension_of(name) or 0, **known}
    return client.create_collection(
        name,
        configuration={"hnsw": HNSW},
        metadata={**about, OWNER: owner} if owner else about,
        embedding_function=None,
    )
