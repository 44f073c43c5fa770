"""A dictionary of half a million words in seven megabytes instead of fifty."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, ItemsView, Iterator, Mapping
from contextlib import closing
from typing import BinaryIO

_BUCKET_BITS = 18
_SHIFT = 64 - _BUCKET_BITS
_HALF = 1 << (_BUCKET_BITS - 1)
_PAGE_BYTES = 1 << 16


class WordCounts(Mapping[str, int]):
    """Counts of words; a beginning of a word that is none itself counts 0, as jieba wants it.

    It keeps 64 bits of each word and of each beginning, sorted, and where each bucket of them
    starts. So it may take a text for a word that is none: once in 10^13 looks. The bits are
    Python's hash and the length: the hash alone is that of the bytes that a text lies in, one, two
    or four a character, and 偂 and "BP" are the same bytes.
    Iterating reads the file again and gives whole words only: what merely begins one is in the
    mapping, and not among its items.

    Args:
        open_file: The dictionary, opened anew at each call: UTF-8 lines of a word, a blank, its
            count, and what else follows a blank.
    """

    def __init__(self, open_file: Callable[[], BinaryIO]) -> None:
        """Reads the file, which takes about a second.

        Raises:
            OSError: it cannot be read.
            ValueError: it is no such dictionary.
        """
        import numpy as np

        self._open_file = open_file
        words, counts, beginnings = array("q"), array("q"), array("q")
        for page, some in self._pages():
            words.extend([hash(word) ^ len(word) for word in page])
            counts.extend(some)
            beginnings.extend({hash(w[:end]) ^ end for w in page for end in range(1, len(w))})
        self.total = sum(counts)
        self._length = len(words)
        own = np.asarray(words)
        keys = np.unique(np.concatenate([own, np.asarray(beginnings)]))
        values = np.zeros(len(keys), dtype=np.intc)
        values[keys.searchsorted(own)] = counts
        bounds = np.arange(-_HALF, _HALF, dtype=np.int64) << _SHIFT
        starts = np.append(keys.searchsorted(bounds), len(keys)).astype(np.intc)
        self._keys = array("q", keys.tobytes())
        self._values = array("i", values.tobytes())
        self._starts = array("i", starts.tobytes())

    def look(self, word: str) -> int | None:
        """The count of a word, 0 for what only begins one, None for anything else."""
        key = hash(word) ^ len(word)
        bucket = (key >> _SHIFT) + _HALF
        end = self._starts[bucket + 1]
        place = bisect_left(self._keys, key, self._starts[bucket], end)
        return self._values[place] if place < end and self._keys[place] == key else None

    def __getitem__(self, word: str) -> int:
        count = self.look(word)
        if count is None:
            raise KeyError(word)
        return count

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.look(word) is not None

    def __len__(self) -> int:
        """How many lines the dictionary has."""
        return self._length

    def __iter__(self) -> Iterator[str]:
        return (word for word, _ in self.items())

    def items(self) -> ItemsView[str, int]:
        return _Items(self)

    def _pages(self) -> Iterator[tuple[list[str], list[int]]]:
        """Some thousand words and their counts at a time, in the order of the file."""
        with closing(self._open_file()) as file:
            while lines := file.readlines(_PAGE_BYTES):
                pairs = [line.decode().split(" ", 2) for line in lines]
                yield [pair[0] for pair in pairs], [int(pair[1]) for pair in pairs]


class _Items(ItemsView[str, int]):
    """Read from the file, without looking each word up."""

    _mapping: WordCounts

    def __iter__(self) -> Iterator[tuple[str, int]]:
        for words, counts in self._mapping._pages():
            yield from dict(zip(words, counts, strict=True)).items()
