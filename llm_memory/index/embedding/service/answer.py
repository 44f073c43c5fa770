"""Vectors out of what a service answered. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any, Final

from ....errors import EmbeddingFailed

_FLOAT: Final = 4
"""Bytes of a number where vectors come in base64: little-endian, single precision."""


def vectors_in(body: bytes, count: int) -> list[Sequence[float]]:
    """Returns one vector per text, in the order of the texts.

    Args:
        body: JSON with a list ``data`` of objects. ``embedding`` is a list of numbers or base64;
            ``index`` says which text it belongs to, and may be missing from all of them.
        count: How many texts were sent.

    Raises:
        EmbeddingFailed: ``not_an_answer``, ``wrong_count``, ``wrong_index`` or ``not_numeric``.
    """
    rows = _rows(body)
    if len(rows) != count:
        raise EmbeddingFailed(f"wrong_count: {len(rows)} vectors for {count} texts")
    return [_vector(row.get("embedding")) for row in _in_order(rows)]


def _rows(body: bytes) -> list[dict[str, Any]]:
    try:
        rows = json.loads(body)["data"]
    except (ValueError, KeyError, TypeError, RecursionError):
        rows = None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise EmbeddingFailed("not_an_answer: no embedding service answers so")
    return rows


def _in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    places = [row.get("index") for row in rows]
    if all(place is None for place in places):
        return rows
    by_place = {place: row for place, row in zip(places, rows, strict=True) if type(place) is int}
    if by_place.keys() != set(range(len(rows))):
        raise EmbeddingFailed("wrong_index: not one vector for each text")
    return [by_place[place] for place in range(len(rows))]


def _vector(embedding: object) -> Sequence[float]:
    if isinstance(embedding, str):
        return _decoded(embedding)
    # bool is an int to Python, and no number of a vector.
    if isinstance(embedding, list) and all(type(number) in (float, int) for number in embedding):
        return embedding
    raise EmbeddingFailed("not_numeric")


def _decoded(text: str) -> Sequence[float]:
    import numpy as np

    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        raw = b"?"  # no whole number
    if len(raw) % _FLOAT:
        raise EmbeddingFailed("not_numeric")
    numbers: list[float] = np.frombuffer(raw, dtype="<f4").tolist()
    return numbers
