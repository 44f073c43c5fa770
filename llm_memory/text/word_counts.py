"""A dictionary of half a million words in seven megabytes instead of fifty."""

from __future__ import annotations

import mmap
import struct
import sys
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final, Literal, Self

FORMAT: Final = 2
_HEAD: Final = struct.Struct("=16s32s3q")
_MARK: Final = f"words {FORMAT} {sys.byteorder}".encode().ljust(16, b"\0")
_TABLES: Final[tuple[Literal["i", "I"], ...]] = ("i", "I", "i", "i")


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the tables: which dictionary it was, the counts of all its lines added
    up, and how long they are."""

    source: bytes  # 32 bytes
    total: int
    codes: int
    nodes: int

    @property
    def size(self) -> int:
        """Bytes of the head and the tables together."""
        return _HEAD.size + 4 * self.codes + 12 * self.nodes + 4

    def packed(self) -> bytes:
        return _HEAD.pack(_MARK, self.source, self.total, self.codes, self.nodes)

    @classmethod
    def of(cls, memory: mmap.mmap) -> Self:
        """Raises ValueError: these are no tables of this format and of this machine's byte order,
        or they are cut off."""
        if len(memory) < _HEAD.size:
            raise ValueError("too short for a head")
        mark, *fields = _HEAD.unpack_from(memory)
        head = cls(*fields)
        if mark != _MARK or min(head.codes, head.nodes) < 1 or len(memory) != head.size:
            raise ValueError("tables of another kind")
        return head


class WordCounts:
    """Counts of words; a beginning of a word that is none itself counts 0, as jieba wants it.

    A trie in four tables, which lie behind the ``Head`` in one piece of memory, so that they can be
    read from disk as they are. C is the number of code points up to the greatest, N of nodes; the
    nodes stand level by level, the children of one side by side and sorted.

    ========== ============= ==========================================================
    roots      int32[C]      the node of a first character, -1 for what begins no word
    codes      uint32[N]     the last character of a node
    values     int32[N]      its count
    children   int32[N + 1]  its first child; the next node's first child is behind its last
    ========== ============= ==========================================================

    Args:
        memory: Anonymous, not a file's: a mapped file that another program cuts short, or whose
            disk is taken out, kills the process. And not malloc's, which seldom gives back what a
            thread let go of. It is free when the last ``WordCounts`` on it is.
    """

    def __init__(self, memory: mmap.mmap) -> None:
        """Raises ValueError: see ``Head.of``."""
        head = Head.of(memory)
        self.total = head.total
        self.source = head.source
        """Names the dictionary by its content, 32 bytes."""
        characters, nodes = head.codes, head.nodes
        lengths = (4 * characters, 4 * nodes, 4 * nodes, 4 * nodes + 4)
        whole = memoryview(memory).toreadonly()
        bounds = pairwise(accumulate(lengths, initial=_HEAD.size))
        self._roots, self._codes, self._values, self._children = (
            whole[start:end].cast(kind) for kind, (start, end) in zip(_TABLES, bounds, strict=True)
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
