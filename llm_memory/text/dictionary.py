"""jieba's dictionary in one script: half a million words and beginnings of words in six megabytes
instead of fifty, and Han text cut by it.

``index/dictionary.bin`` keeps it, which spares each start the reading of half a million lines:
delete it at will. It holds the words of a public dictionary, so it has no scope.
"""

from __future__ import annotations

import math
import re
import struct
import sys
from bisect import bisect_left
from contextlib import suppress
from functools import partial
from hashlib import blake2b, file_digest
from io import BufferedIOBase
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Final

from ..errors import VaultWriteFailed
from ..runtime.cooperative import cooperative
from ..storage.files import replace_durably
from .scripts import simplified

_KEY_BYTES: Final = 32
_hash: Final = partial(blake2b, digest_size=_KEY_BYTES)
_FORMAT: Final = f"words 5 {sys.byteorder}".encode()
_HEAD: Final = struct.Struct("=2q")
_PAGE_BYTES: Final = 1 << 16
_GREATEST: Final = (1 << 31) - 1
_FACTOR: Final = 0x9E37_79B9_7F4A_7C15
_MASK: Final = (1 << 64) - 1
_TOP: Final = 48
"""The bits above these of a key tell where in the table it lies."""
_COMMON = re.compile("([\u4e00-\u9fd5]+)")
"""What jieba looks up; other ideographs stand for themselves."""


class WordCounts:
    """Counts of words; a beginning of a word that is none itself counts 0, as jieba wants it.

    The bytes that ``digest`` returns: the sum of all counts, the number N of words and beginnings,
    and three tables. A key is a sum over code points, plus one, times powers of ``_FACTOR``, in 64
    bits, so that the key of a text follows from that of the text before its last character.

    ======= ============= =================================================
    keys    uint64[N]     sorted
    starts  uint32[65537] where those begin that share their highest 16 bits
    values  int32[N]      the count of each
    ======= ============= =================================================
    """

    def __init__(self, tables: bytes | memoryview, source: bytes) -> None:
        """``source``: 32 bytes that name the dictionary by its content."""
        self.source = source
        self.total, count = _HEAD.unpack_from(tables)
        lengths = (8 * count, 4 * ((1 << 64 - _TOP) + 1), 4 * count)
        ends = pairwise(accumulate(lengths, initial=_HEAD.size))
        keys, starts, values = (memoryview(tables)[start:end] for start, end in ends)
        self._keys, self._starts, self._values = keys.cast("Q"), starts.cast("I"), values.cast("i")

    def along(self, text: str, start: int = 0) -> list[int]:
        """The counts of the one, two, three … characters from ``start`` on, as far as they are a
        word or the beginning of one."""
        keys, starts, values = self._keys, self._starts, self._values
        counts, key = [], 0
        for place in range(start, len(text)):
            key = (key * _FACTOR + ord(text[place]) + 1) & _MASK
            end = starts[(key >> _TOP) + 1]
            at = bisect_left(keys, key, starts[key >> _TOP], end)
            if at == end or keys[at] != key:
                break
            counts.append(values[at])
        return counts

    def look(self, word: str) -> int | None:
        """The count of a word, 0 for what only begins one, None for anything else."""
        counts = self.along(word)
        return counts[-1] if counts and len(counts) == len(word) else None


def digest(file: BufferedIOBase) -> bytes:
    """The tables of a dictionary. Takes a second or two; numpy does most of it.

    Args:
        file: UTF-8 lines of a word, a blank, its count, and what else follows a blank. Words are
            taken in one script; of one that stands there twice the greater count holds.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no such dictionary.
    """
    import numpy as np

    # A page of lines at a time: no call keeps the interpreter from other threads for long.
    words, lengths, counts = [], [], []
    for lines in cooperative(iter(partial(file.readlines, _PAGE_BYTES), [])):
        page = simplified(b"".join(lines).decode()).removesuffix("\n")
        pairs = [line.split(" ", 2) for line in page.split("\n")]
        words.append("".join(pair[0] for pair in pairs))
        lengths.append(np.array([len(pair[0]) for pair in pairs]))
        counts.append(np.array([int(pair[1]) for pair in pairs]))
    length, count = (np.concatenate([*some, np.zeros(0, dtype=int)]) for some in (lengths, counts))
    if not length.size or length.min() < 1 or count.min() < 0 or count.max() > _GREATEST:
        raise ValueError("a line that no dictionary has")
    codes = np.frombuffer("".join(words).encode("utf-32-le"), dtype="<u4").astype(np.uint64)
    starts, key = np.cumsum(length) - length, np.zeros(len(length), dtype=np.uint64)
    keys, values = [], []
    for level in range(int(length.max())):
        rows = np.flatnonzero(length > level)
        key[rows] = key[rows] * np.uint64(_FACTOR) + codes[starts[rows] + level] + np.uint64(1)
        keys.append(key[rows])
        values.append(np.where(length[rows] == level + 1, count[rows], 0))
    known, places = np.unique(np.concatenate(keys), return_inverse=True)
    greatest = np.zeros(len(known), dtype=np.int32)
    np.maximum.at(greatest, places, np.concatenate(values).astype(np.int32))
    tops = (known >> np.uint64(_TOP)).searchsorted(np.arange((1 << 64 - _TOP) + 1))
    head, starting = _HEAD.pack(int(count.sum()), len(known)), tops.astype(np.uint32)
    return b"".join([head, known.tobytes(), starting.tobytes(), greatest.tobytes()])


def load_words(file: BufferedIOBase, cache: Path | None) -> WordCounts:
    """The counts of a dictionary, from what is kept of it or from its lines. Blocks.

    What is kept is used only if it is whole, of our format, and was made of these very bytes: a
    checksum before the tables covers all three. What cannot be kept is made again the next time.

    Args:
        file: The dictionary, at its beginning; see ``digest``.
        cache: Where its tables are kept; None keeps none.

    Raises:
        OSError: the dictionary cannot be read.
        ValueError: it is none.
    """
    # By its content: versions and times of files are the same after some repairs and restores.
    source = file_digest(file, _hash).digest()
    checksum = partial(_hash, key=source, person=_FORMAT)
    kept = memoryview(b"")
    with suppress(OSError):
        kept = memoryview(kept if cache is None else cache.read_bytes())
    if kept[:_KEY_BYTES] == checksum(kept[_KEY_BYTES:]).digest():
        return WordCounts(kept[_KEY_BYTES:], source)
    file.seek(0)
    tables = digest(file)
    _give_back()
    if cache is not None:
        with suppress(VaultWriteFailed):
            replace_durably(cache, checksum(tables).digest() + tables)
    return WordCounts(tables, source)


def _give_back() -> None:
    """Return to the system what was freed: of a digest glibc keeps some fifty megabytes, and the
    process lives for weeks."""
    with suppress(ImportError, AttributeError, OSError, TypeError):  # another C library
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)


class Segmenter:
    """The path of the highest probability through all words of the dictionary that fit: of a text
    in one script what ``jieba.Tokenizer().lcut(text, HMM=False)`` gives, and out of reach of other
    plugins, who add words to jieba for the whole process."""

    def __init__(self, words: WordCounts) -> None:
        self.words = words
        self._log_total = math.log(words.total)

    def cut(self, text: str) -> list[str]:
        """The words of a text of one script, in order; together they are the text."""
        found: list[str] = []
        for piece in _COMMON.split(text):
            ends = self._ends(piece) if _COMMON.match(piece) else range(1, len(piece) + 1)
            start = 0
            while start < len(piece):
                found.append(piece[start : ends[start]])
                start = ends[start]
        return found

    def _ends(self, text: str) -> list[int]:
        """Where the best word that starts at each place ends, found from the end on."""
        along, log, log_total = self.words.along, math.log, self._log_total
        length = len(text)
        best = [0.0] * (length + 1)
        ends = [0] * length
        for start in range(length - 1, -1, -1):
            chosen, score = start + 1, -log_total + best[start + 1]  # a character that no word is
            known = False
            for end, count in enumerate(along(text, start), start + 1):
                if count:
                    own = log(count) - log_total + best[end]
                    if not known or own >= score:  # of equals the longer one
                        known, chosen, score = True, end, own
            best[start], ends[start] = score, chosen
        return ends
