"""The vector index, a cache of the vault, and what says which part of it is complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ...models.passages import Key
from ...models.scope import ScopeFilter
from ..embedding.ports import Fingerprint, Vector, Vectors
from ..ports import Neighbour as Neighbour
from ..ports import Neighbours as Neighbours


@dataclass(frozen=True, slots=True)
class IndexRecord:
    """What the index keeps of a memory. ``text`` is what was embedded."""

    key: Key
    text: str
    content_hash: str
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict)


class VectorStore(Protocol):
    """The index: a cache of the vault. Every method blocks and may raise IndexUnavailable."""

    def open(self) -> str:
        """Import, open, and make ready. Idempotent.

        Returns why an earlier index was set aside instead of being opened: a stable code, empty
        where nothing was.
        """
        ...

    def name_for(self, fingerprint: Fingerprint) -> str:
        """The collection's name for an embedder; different for different fingerprints."""
        ...

    def collections(self) -> tuple[str, ...]:
        """The names of our collections on disk."""
        ...

    def use(self, collection: str) -> bool:
        """Open the collection that the following calls speak of; False if it had to be made."""
        ...

    def drop(self, collection: str) -> None:
        """Delete a collection that is not in use. Unknown names are ignored."""
        ...

    def upsert(self, records: Sequence[IndexRecord], vectors: Vectors) -> None:
        """Add or replace by key. Raises IndexFull, and then nothing was touched."""
        ...

    def delete(self, keys: Sequence[Key]) -> None:
        """Remove by key. Unknown keys are ignored."""
        ...

    def hashes(self) -> dict[Key, str]:
        """Content hashes of all records."""
        ...

    def count(self) -> int:
        """How many records the collection holds."""
        ...

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        """At most ``k`` visible neighbours. No result without the scope check."""
        ...

    def worn(self) -> bool:
        """Deletions outnumber the living: rebuilt, the collection would be better."""
        ...

    def discard(self, reason: str) -> None:
        """Give up everything that is stored: the next ``open`` begins with nothing.

        What lies on our own disk is set aside for its owner, as far as there is room for it.
        """
        ...

    def clear(self) -> None:
        """Delete what lies on our own disk, unopened; nothing is kept. Only before ``open``.

        What lies on a server stays: who does without an index asks no server.
        """
        ...

    def reset(self) -> None:
        """Let go of everything after a fault; ``open`` starts anew, on whatever is there then."""
        ...

    def close(self) -> None:
        """Release the directory. Idempotent; every call after it raises IndexUnavailable."""
        ...


class TextIndex(Protocol):
    """An index whose process embeds what it is asked."""

    def query_text(
        self, text: str, scope_filter: ScopeFilter, k: int, common: Sequence[float] = ()
    ) -> tuple[Vector, Neighbours]:
        """The text's vector apart from ``common``, and ``VectorStore.query`` for it. Blocks.

        Raises:
            IndexUnavailable: as there.
            EmbeddingFailed: ``died``, the process ended; or the embedder's own reason.
        """
        ...
