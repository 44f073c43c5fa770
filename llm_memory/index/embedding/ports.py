"""Texts to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    """Texts to unit vectors."""

    @property
    def label(self) -> str:
        """What the status shows: ``lexical``, ``bundled``, ``provider:<id>``, ``local:<name>``,
        ``service:<host>``."""
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

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector | None]:
        """One for each text; None for a text that has none because of what it is.

        Raises EmbeddingFailed: none of them has one now."""
        ...

    async def close(self) -> None:
        """Give back what it holds."""
        ...
