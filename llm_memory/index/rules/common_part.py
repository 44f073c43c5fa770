"""What all questions share is no part of what one of them asks for. Pure.

See ``Cohort`` in ``recall/embedder_trust.py`` for what it is taken from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..arrays import np
from ..embedding.ports import Vector

_NO_DIRECTION: Final = 1e-3
"""The length of a vector that is left of a question and says nothing."""


def apart_from(vector: Vector, common: Sequence[float] | Vector) -> Vector:
    """The unit vector of what is left of a question's, shape ``(dim,)``; itself where nothing is,
    or ``common`` is empty or of another embedder."""
    if len(common) != len(vector):
        return vector
    rest: Vector = vector - np.asarray(common, dtype=np.float32)
    length = float(np.linalg.norm(rest))
    return rest / np.float32(length) if length > _NO_DIRECTION else vector
