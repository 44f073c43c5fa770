"""Texts to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from ...errors import EmbeddingFailed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    """Shape ``(dim,)``, unit length."""
    Vectors = NDArray[np.float32]
    """Shape ``(n, dim)``, rows of unit length."""
else:
    Vector = Vectors = Any

CONTROL: Final = "你好 hello"
"""A text that every model has a vector for."""
_SHORTEST: Final = 1e-100
"""Squares of smaller numbers leave the range of floats."""


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


def unit(answer: object, dim: int) -> Vector:
    """Returns a vector of unit length, float32, shape ``(dim,)``.

    Args:
        answer: A sequence of numbers, or so they say.
        dim: How long it should be; 0 takes any length but none.

    Raises:
        EmbeddingFailed: ``wrong_dimension``, or ``not_finite`` of what has no direction.
    """
    import numpy as np

    try:
        vector = np.array(answer, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise EmbeddingFailed("not_finite: no numbers") from error
    if vector.ndim != 1 or not vector.size or vector.size != (dim or vector.size):
        raise EmbeddingFailed(f"wrong_dimension: {vector.size} instead of {dim or 'any'}")
    length = np.linalg.norm(vector)
    if not _SHORTEST < length < np.inf:
        raise EmbeddingFailed("not_finite")
    whole: Vector = (vector / length).astype(np.float32)
    return whole
