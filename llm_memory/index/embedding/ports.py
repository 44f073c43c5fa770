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
        EmbeddingFailed: ``wrong_dimension``, ``not_numeric``, ``not_finite`` or ``zero_vector``.
    """
    import numpy as np

    try:
        vector = np.array(answer, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise EmbeddingFailed("not_numeric") from error
    if vector.ndim != 1 or isinstance(answer, str | bytes):
        raise EmbeddingFailed("not_numeric")
    if len(vector) != (dim or len(vector)) or not len(vector):
        raise EmbeddingFailed(f"wrong_dimension: {len(vector)} instead of {dim or 'any'}")
    if not np.isfinite(vector).all():
        raise EmbeddingFailed("not_finite")
    # By the largest entry first: squares of tiny or huge numbers leave the range of floats.
    peak = np.abs(vector).max()
    if peak == 0.0:
        raise EmbeddingFailed("zero_vector")
    vector /= peak
    whole: Vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    return whole
