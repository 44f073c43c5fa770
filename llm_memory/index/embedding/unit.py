"""Whatever an embedder answered, as unit vectors. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...errors import EmbeddingFailed

if TYPE_CHECKING:
    from .ports import Vector

CONTROL: Final = "你好 hello"
"""A text that every model has a vector for."""


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
