"""A dictionary's lines to the tables of ``WordCounts``. Takes a second; numpy does most of it."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedIOBase
from typing import TYPE_CHECKING, Final

from .word_counts import Head

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    type Numbers = NDArray[np.int64]

_PAGE_BYTES: Final = 1 << 16
_GREATEST: Final = (1 << 31) - 1
_CODE_BITS: Final = 21
"""Of a code point. Pairs of a number and a code point are sorted as one number of 64 bits."""


def digest(file: BufferedIOBase, source: bytes) -> mmap.mmap:
    """The tables of a dictionary, with a head that names it by ``source``.

    Args:
        file: UTF-8 lines of a word, a blank, its count, and what else follows a blank. Of a word
            that stands there twice the later count holds.
        source: 32 bytes.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no such dictionary.
    """
    import numpy as np

    lines = _read(file)
    ends, codes, parents = _trie(lines)
    # Of numbers for the same place numpy keeps the last.
    row_of = np.full(len(codes), -1, dtype=np.int64)
    row_of[ends] = np.arange(len(ends))
    is_word = row_of >= 0
    distinct = row_of[is_word]
    values = np.zeros(len(codes), dtype=np.int32)
    values[is_word] = lines.counts[distinct]
    characters = int(lines.codes.max()) + 1
    roots = np.full(characters, -1, dtype=np.int32)
    first = np.flatnonzero(parents < 0)
    roots[codes[first]] = first
    children = parents.searchsorted(np.arange(len(codes) + 1)).astype(np.int32)
    head = Head(source, int(lines.counts.sum()), characters, len(codes))
    memory = mmap.mmap(-1, head.size)
    memory.write(head.packed())
    for table in (roots, codes.astype(np.uint32), values, children):
        memory.write(table.tobytes())
    return memory


@dataclass(frozen=True, slots=True)
class _Lines:
    """W words in the order of the file."""

    lengths: Numbers  # W
    counts: Numbers  # W
    codes: NDArray[np.uint32]  # the code points of all words, one behind the other


def _read(file: BufferedIOBase) -> _Lines:
    import numpy as np

    pages = [
        (
            np.array([len(word) for word in words], dtype=np.int64),
            np.array(counts, dtype=np.int64),
            np.frombuffer("".join(words).encode("utf-32-le"), dtype="<u4"),
        )
        for words, counts in _pages(file)
    ]
    lengths, counts, codes = (np.concatenate(column) for column in zip(*pages, strict=True))
    if lengths.min() < 1 or counts.min() < 0 or counts.max() > _GREATEST:
        raise ValueError("a line that no dictionary has")
    return _Lines(lengths, counts, codes)


def _pages(file: BufferedIOBase) -> Iterator[tuple[list[str], list[int]]]:
    """Some thousand words and their counts at a time: what is let go of is used again."""
    while lines := file.readlines(_PAGE_BYTES):
        pairs = [line.decode().split(" ", 2) for line in lines]
        yield [pair[0] for pair in pairs], [int(pair[1]) for pair in pairs]


def _trie(lines: _Lines) -> tuple[Numbers, Numbers, Numbers]:
    """For each word the node that it ends at; for each node its character and its parent, or -1.

    Nodes are numbered level by level, in the order of parents and characters.
    """
    import numpy as np

    starts = np.cumsum(lines.lengths) - lines.lengths
    at = np.full(len(starts), -1, dtype=np.int64)
    codes, parents, count = [], [], 0
    for level in range(int(lines.lengths.max())):
        rows = np.flatnonzero(lines.lengths > level)
        pairs = (at[rows] << _CODE_BITS) | lines.codes[starts[rows] + level]
        nodes, places = np.unique(pairs, return_inverse=True)
        at[rows] = count + places
        codes.append(nodes & ((1 << _CODE_BITS) - 1))
        parents.append(nodes >> _CODE_BITS)
        count += len(nodes)
    return at, np.concatenate(codes), np.concatenate(parents)
