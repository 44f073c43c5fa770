"""Where vectors are stored, and what is found among them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from ..models.passages import Key
from ..models.scope import ScopeFilter
from .embedding.ports import Fingerprint, Vector, Vectors

BROKEN: Final = "broken"
"""The code of a store that is of no use as it lies: ``drop(None)``, ``load``, and write it anew."""
PAGE: Final = 1000
"""Records that are loaded at a time, so that nobody waits for long."""


class IndexRecord(NamedTuple):
    """What a store keeps of a passage beside its vector: none of its words.

    Attributes:
        content_hash: Changes with whatever the vector is made of.
        plain: The vector of the text alone, as float16; only of a memory that answers questions,
            whose vector is ``normalise(e(text) + e(questions))``.
    """

    key: Key
    content_hash: str
    plain: bytes = b""


class Neighbour(NamedTuple):
    """A record near a query. ``similarity`` is the cosine, -1 to 1; ``plain`` the record's."""

    key: Key
    similarity: float
    plain: bytes = b""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Nearest first. ``dropped`` counts what the scope check refused after the store's answer."""

    found: tuple[Neighbour, ...]
    dropped: int = 0


type Page = tuple[list[IndexRecord], Vectors | None]


class VectorStore(Protocol):
    """A cache of vectors that outlives a start; the vault is the truth. For any thread.

    Every method blocks and may raise IndexUnavailable: ``broken``; ``closed``; ``missing``, no
    chromadb that works; ``no_child``, no process for it; ``full``, the disk; ``in_use``, another
    process still has the folder; ``unreadable``, rights are missing; ``slow``; ``server``, it does
    not answer, or not to us.
    """

    def load(self, fingerprint: Fingerprint, most: int) -> Iterator[Page]:
        """All records of this embedder, a thousand at a time; begins with none for a new one.

        What is odd is left out and deleted, and so are other embedders' records. Of more than
        ``most`` records the pages have no vectors: then ``query`` is asked.
        """

    def write(self, records: Sequence[IndexRecord], vectors: Vectors) -> None:
        """Add or replace by key."""

    def drop(self, keys: Collection[Key] | None) -> None:
        """Delete, another embedder's too. None: all there is, the folder's files as well."""

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        """At most ``k`` visible neighbours. No result without the scope check."""

    def close(self) -> None:
        """Give everything back. Idempotent."""
