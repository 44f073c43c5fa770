"""Whatever an embedder answered, as unit vectors. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import EmbeddingFailed

if TYPE_CHECKING:
    from .ports import Vectors


def unit_rows(answer: object, count: int, dim: int) -> Vectors:
    """Rows of unit length, float32, shape ``(count, dim)``.

    Args:
        answer: A sequence of vectors, or so they say.
        count: How many texts were sent.
        dim: How long a vector is; 0 takes the length of the first.

    Raises:
        EmbeddingFailed: ``wrong_count``, ``wrong_dimension``, ``not_numeric``, ``not_finite`` or
            ``zero_vector``.
    """
    import numpy as np

    rows = _rows(answer)
    if len(rows) != count:
        raise EmbeddingFailed(f"wrong_count: {len(rows)} vectors for {count} texts")
    width = dim or (len(rows[0]) if rows else 0)
    for row in rows:
        if len(row) != width or not width:
            raise EmbeddingFailed(f"wrong_dimension: {len(row)} instead of {width or 'any'}")
    try:
        vectors = np.array(rows, dtype=np.float64).reshape(count, width)
    except (TypeError, ValueError, OverflowError) as error:
        raise EmbeddingFailed("not_numeric") from error
    if not np.isfinite(vectors).all():
        raise EmbeddingFailed("not_finite")
    # By the largest entry first: squares of tiny or huge numbers leave the range of floats.
    peaks = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    if (peaks == 0.0).any():
        raise EmbeddingFailed("zero_vector")
    vectors /= peaks
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = vectors.astype(np.float32)
    return unit


def without_zeros(vectors: Vectors, texts: Sequence[str]) -> Vectors:
    """Rows of zeros replaced by signs from a hash of the text, shape kept.

    A model gives zeros for a text that it has no token for, such as an emoji. The signs are all
    but orthogonal to whatever has a meaning, and one such text does not hold up its batch.
    """
    import numpy as np

    empty = np.flatnonzero(~vectors.any(axis=1)) if len(vectors) else ()
    if not len(empty):
        return vectors
    filled: Vectors = np.array(vectors, dtype=np.float32)
    for row in map(int, empty):
        seed = hashlib.shake_256(texts[row].encode(errors="replace"))
        bits = np.unpackbits(np.frombuffer(seed.digest(filled.shape[1] // 8 + 1), dtype=np.uint8))
        filled[row] = bits[: filled.shape[1]] * 2.0 - 1.0
    return filled


def _rows(answer: object) -> list[Any]:
    try:
        rows: list[Any] = list(answer)  # type: ignore[call-overload]  # a wrong guess is caught below
        for row in rows:
            len(row)
    except TypeError as error:
        raise EmbeddingFailed("not_numeric") from error
    if isinstance(answer, str | bytes) or any(isinstance(row, str | bytes) for row in rows):
        raise EmbeddingFailed("not_numeric")
    return rows
