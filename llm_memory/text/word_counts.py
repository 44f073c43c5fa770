"""A dictionary of half a million words in seven megabytes instead of fifty."""

from __future__ import annotations

import struct
from bisect import bisect_left
from io import BufferedIOBase
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final, Literal

from .scripts import simplified

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    type Numbers = NDArray[np.int64]

_HEAD: Final = struct.Struct("=3q")
_TABLES: Final[tuple[Literal["i", "I"], ...]] = ("i", "I", "i", "i")
_PAGE_BYTES: Final = 1 << 16
_GREATEST: Final = (1 << 31) - 1
_CODE_BITS: Final = 21
"""Of a code point. A node and a code point are sorted as one number of 64 bits."""


class WordCounts:
    """Counts of words; a beginning of a word that is none itself counts 0, as jieba wants it.

    A trie in four tables, which lie one behind the other in the bytes that ``digest`` returns, so
    that they can be read from disk as they are. Before them: the sum of all counts, C and N. C is
    the number of code points up to the greatest, N of nodes; the nodes stand level by level, the
    children of one side by side and sorted.

    ========== ============= ==========================================================
    roots      int32[C]      the node of a first character, -1 for what begins no word
    codes      uint32[N]     the last character of a node
    values     int32[N]      its count
    children   int32[N + 1]  its first child; the next node's first child is behind its last
    ========== ============= ==========================================================
    """

    def __init__(self, tables: bytes | memoryview, source: bytes) -> None:
        """``source``: 32 bytes that name the dictionary by its content."""
        self.source = source
        self.total, characters, nodes = _HEAD.unpack_from(tables)
        lengths = (4 * characters, 4 * nodes, 4 * nodes, 4 * nodes + 4)
        bounds = pairwise(accumulate(lengths, initial=_HEAD.size))
        self._roots, self._codes, self._values, self._children = (
            memoryview(tables)[start:end].cast(kind)
            for kind, (start, end) in zip(_TABLES, bounds, strict=True)
        )

    def along(self, text: str, start: int = 0) -> list[int]:
        """The counts of the one, two, three … characters from ``start`` on, as far as they are a
        word or the beginning of one. ``start`` lies inside the text."""
        code = ord(text[start])
        node = self._roots[code] if code < len(self._roots) else -1
        if node < 0:
            return []
        codes, values, children = self._codes, self._values, self._children
        counts = [values[node]]
        for place in range(start + 1, len(text)):
            code = ord(text[place])
            end = children[node + 1]
            node = bisect_left(codes, code, children[node], end)
            if node == end or codes[node] != code:
                break
            counts.append(values[node])
        return counts

    def look(self, word: str) -> int | None:
        """The count of a word, 0 for what only begins one, None for anything else."""
        counts = self.along(word) if word else []
        return counts[-1] if counts and len(counts) == len(word) else None


def digest(file: BufferedIOBase) -> bytes:
    """The tables of a dictionary. Takes a second; numpy does most of it.

    Args:
        file: UTF-8 lines of a word, a blank, its count, and what else follows a blank. Words are
            taken in one script; of one that stands there twice the greater count holds.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no such dictionary.
    """
    import numpy as np

    # A page of lines at a time: no call keeps the interpreter from other threads for long.
    pages: list[tuple[Numbers, Numbers, NDArray[np.uint32]]] = []
    while lines := file.readlines(_PAGE_BYTES):
        page = simplified(b"".join(lines).decode())
        pairs = [line.split(" ", 2) for line in page.removesuffix("\n").split("\n")]
        words = [pair[0] for pair in pairs]
        pages.append(
            (
                np.array([len(word) for word in words], dtype=np.int64),
                np.array([int(pair[1]) for pair in pairs], dtype=np.int64),
                np.frombuffer("".join(words).encode("utf-32-le"), dtype="<u4"),
            )
        )
    lengths, counts, letters = (np.concatenate(column) for column in zip(*pages, strict=True))
    if lengths.min() < 1 or counts.min() < 0 or counts.max() > _GREATEST:
        raise ValueError("a line that no dictionary has")
    ends, codes, parents = _trie(lengths, letters)
    values = np.zeros(len(codes), dtype=np.int32)
    np.maximum.at(values, ends, counts)
    roots = np.full(int(letters.max()) + 1, -1, dtype=np.int32)
    first = np.flatnonzero(parents < 0)
    roots[codes[first]] = first
    children = parents.searchsorted(np.arange(len(codes) + 1)).astype(np.int32)
    tables = (roots, codes.astype(np.uint32), values, children)
    head = _HEAD.pack(int(counts.sum()), len(roots), len(codes))
    return b"".join([head, *(table.tobytes() for table in tables)])


def _trie(lengths: Numbers, letters: NDArray[np.uint32]) -> tuple[Numbers, Numbers, Numbers]:
    """For each word the node that it ends at; for each node its character and its parent, or -1.

    Nodes are numbered level by level, in the order of parents and characters.

    Args:
        lengths: Of W words.
        letters: The code points of all words, one behind the other.
    """
    import numpy as np

    starts = np.cumsum(lengths) - lengths
    at = np.full(len(starts), -1, dtype=np.int64)
    codes, parents, count = [], [], 0
    for level in range(int(lengths.max())):
        rows = np.flatnonzero(lengths > level)
        pairs = (at[rows] << _CODE_BITS) | letters[starts[rows] + level]
        nodes, places = np.unique(pairs, return_inverse=True)
        at[rows] = count + places
        codes.append(nodes & ((1 << _CODE_BITS) - 1))
        parents.append(nodes >> _CODE_BITS)
        count += len(nodes)
    return at, np.concatenate(codes), np.concatenate(parents)
