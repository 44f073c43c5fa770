"""Texts to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..rules.deduplication import MergeThresholds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..vector.ports import TextIndex

    Vector = NDArray[np.float32]
    """Shape ``(dim,)``, unit length."""
    Vectors = NDArray[np.float32]
    """Shape ``(n, dim)``, rows of unit length."""
else:
    Vector = Vectors = Any


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Which vectors may be compared with which: same fingerprint, same space.

    ``model`` names the embedder and its settings, ``revision`` what a name cannot tell (the
    content of a local folder, a version of our own hashing), ``dim`` the length of a vector.
    """

    model: str
    dim: int
    revision: str = ""


class Embedder(Protocol):
    """Texts to unit vectors. Its thresholds are its own: similarities differ by model."""

    @property
    def label(self) -> str:
        """What the status shows: ``lexical``, ``bundled``, ``provider:<id>``, ``local:<name>``,
        ``service:<host>``."""
        ...

    @property
    def merge_thresholds(self) -> MergeThresholds:
        """Similarities of two memories from which on the second may say what the first said."""
        ...

    @property
    def colocated_index(self) -> TextIndex | None:
        """The index, where its own process embeds: a query may go there as the text it is."""
        ...

    async def prepare(self) -> Fingerprint:
        """Load what is needed and say which space the vectors lie in.

        Raises:
            EmbeddingFailed: not now; the caller tries again later.
        """
        ...

    async def embed_query(self, text: str) -> Vector:
        """One query, shape ``(dim,)``. Raises EmbeddingFailed."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape ``(len(texts), dim)``. Raises EmbeddingFailed."""
        ...

    async def close(self) -> None:
        """Give back what it holds."""
        ...
