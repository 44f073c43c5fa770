"""``index/dictionary.bin``: jieba's dictionary as ``WordCounts`` wants it. Delete it at will.

It spares each start and each reload of the plugin the reading of half a million lines. It holds
nobody's words, only those of a public dictionary, so it has no scope. Bytes: a checksum of 32, then
the head and the tables.
"""

from __future__ import annotations

import mmap
import threading
from hashlib import blake2b, file_digest
from io import BufferedIOBase
from pathlib import Path
from typing import Final

from ..errors import VaultWriteFailed
from ..log import logger
from ..storage.files import replace_durably
from .dictionary_digest import digest
from .word_counts import Head, WordCounts

_KEY_BYTES: Final = 32
_MOST_BYTES: Final = 64 << 20
"""Ours has seven megabytes: what is far greater is not worth the memory to look at it."""
_DIGESTING: Final = threading.Lock()
"""The index of words and the embedder want it in the same moment of a first start, and each would
take the interpreter for a second."""


def load_words(file: BufferedIOBase, cache: Path | None) -> WordCounts:
    """The counts of a dictionary, from what is kept of it or from its lines. Blocks.

    What is kept is taken only if it is whole and was made of these very bytes. What cannot be kept
    is made again the next time.

    Args:
        file: The dictionary, at its beginning; see ``digest``.
        cache: Where its tables are kept; None keeps none.

    Raises:
        OSError: the dictionary cannot be read.
        ValueError: it is none.
    """
    # By its content: versions and times of files are the same after some repairs and restores.
    source = file_digest(file, _hash).digest()
    kept = None if cache is None else _kept(cache, source)
    if kept is not None:
        return kept
    with _DIGESTING:
        kept = None if cache is None else _kept(cache, source)
        if kept is not None:  # another thread has kept it
            return kept
        file.seek(0)
        memory = digest(file, source)
        if cache is not None:
            _keep(cache, memory)
        return WordCounts(memory)


def _kept(path: Path, source: bytes) -> WordCounts | None:
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            size = path.stat().st_size - _KEY_BYTES
            if not 0 < size <= _MOST_BYTES:
                return None
            checksum = file.read(_KEY_BYTES)
            memory = mmap.mmap(-1, size)
            whole = file.readinto(memory) == size
        if not whole or _hash(memory).digest() != checksum or Head.of(memory).source != source:
            return None
        return WordCounts(memory)
    except (OSError, ValueError) as error:
        logger.debug("留着的词典用不了，重新整理：{}", error)
        return None


def _keep(path: Path, memory: mmap.mmap) -> None:
    try:
        replace_durably(path, _hash(memory).digest() + memory[:])
    except VaultWriteFailed as error:
        logger.debug("整理好的词典没有地方留，下次再整理：{}", error)


def _hash(content: mmap.mmap | bytes = b"") -> blake2b:
    return blake2b(content, digest_size=_KEY_BYTES)
