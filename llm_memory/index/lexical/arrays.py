"""How postings and documents lie in the tables: arrays of a few bytes a row.

Documents of a scope are numbered from 0; ``BLOCK`` neighbouring numbers share a blob. A posting is
an offset in its block and how often the token stands in the text and in the context. A frame row
is what a score needs to know of a document. All little-endian.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from ...errors import IndexUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.void]
else:
    Rows = Any

BLOCK: Final = 1024
MAX_COUNT: Final = 255
MAX_LENGTH: Final = 65535
NO_DOCUMENT: Final = -1

POSTING: Final = [("offset", "<u2"), ("text", "u1"), ("context", "u1")]
FRAME: Final = [("text", "<u2"), ("total", "<u2"), ("session", "<i4"), ("previous", "<i4")]
"""Lengths in tokens of the text and of text and context together, both 0 for an empty slot; the
session's number; the number of the document before it in the session, or ``NO_DOCUMENT``."""

type Counts = tuple[int, int]
"""How often a token stands in the text, and in the context."""


def posting_rows(blob: bytes) -> Rows:
    """Raises IndexUnavailable: it is no whole number of rows, or a row lies outside the block."""
    rows = _rows(blob, POSTING)
    if len(rows) and int(rows["offset"].max()) >= BLOCK:
        raise IndexUnavailable("a posting outside its block")
    return rows


def changed_postings(blob: bytes, gone: Collection[int], new: Mapping[int, Counts]) -> bytes:
    """The blob without some offsets and with others."""
    import numpy as np

    rows = posting_rows(blob)
    away = [*gone, *new]
    kept = rows[~np.isin(rows["offset"], np.array(away, dtype="<u2"))]
    added = np.array(
        [
            (offset, min(text, MAX_COUNT), min(context, MAX_COUNT))
            for offset, (text, context) in new.items()
        ],
        dtype=POSTING,
    )
    return np.concatenate([kept, added]).tobytes()


def empty_frame() -> Rows:
    """A block of empty slots."""
    import numpy as np

    rows = np.zeros(BLOCK, dtype=FRAME)
    rows["previous"] = NO_DOCUMENT
    return rows


def frame_rows(blob: bytes) -> Rows:
    """A block's documents, to be changed. Raises IndexUnavailable: it is no block."""
    rows = _rows(blob, FRAME)
    if len(rows) != BLOCK:
        raise IndexUnavailable("a frame of another length")
    return rows.copy()


def _rows(blob: bytes, kind: list[tuple[str, str]]) -> Rows:
    import numpy as np

    try:
        return np.frombuffer(blob, dtype=kind)
    except (ValueError, TypeError) as error:
        raise IndexUnavailable(f"a blob of another kind: {error}") from error
