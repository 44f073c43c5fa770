"""``index/dictionary.bin``: jieba's dictionary as ``WordCounts`` reads it. Delete it at will.

It spares each start and each reload of the plugin the reading of half a million lines. It holds
the words of a public dictionary, so it has no scope. Bytes: a checksum of 32, then the tables.
"""

from __future__ import annotations

import sys
import threading
from functools import partial
from hashlib import blake2b, file_digest
from io import BufferedIOBase
from pathlib import Path
from typing import Final

from ..errors import VaultWriteFailed
from ..log import logger
from ..storage.files import replace_durably
from .word_counts import WordCounts, digest

_KEY_BYTES: Final = 32
_FORMAT: Final = f"words 4 {sys.byteorder}".encode()
_hash: Final = partial(blake2b, digest_size=_KEY_BYTES)
_LOADING: Final = threading.Lock()
"""The index of words and the embedder want it in the same moment of a first start, and each would
take the interpreter for a second."""


def load_words(file: BufferedIOBase, cache: Path | None) -> WordCounts:
    """The counts of a dictionary, from what is kept of it or from its lines. Blocks.

    What is kept is used only if it is whole, of our format, and was made of these very bytes: the
    checksum covers all three. What cannot be kept is made again the next time.

    Args:
        file: The dictionary, at its beginning; see ``digest``.
        cache: Where its tables are kept; None keeps none.

    Raises:
        OSError: the dictionary cannot be read.
        ValueError: it is none.
    """
    # By its content: versions and times of files are the same after some repairs and restores.
    source = file_digest(file, _hash).digest()
    with _LOADING:
        kept = None if cache is None else _kept(cache, source)
        if kept is not None:
            return WordCounts(kept, source)
        file.seek(0)
        tables = digest(file)
        if cache is not None:
            _keep(cache, source, tables)
        return WordCounts(tables, source)


def _kept(path: Path, source: bytes) -> memoryview | None:
    try:
        kept = memoryview(path.read_bytes())
    except OSError as error:
        logger.debug("the cached dictionary cannot be used, it is built again: {}", error)
        return None
    tables = kept[_KEY_BYTES:]
    return tables if kept[:_KEY_BYTES] == _checksum(source, tables) else None


def _keep(path: Path, source: bytes, tables: bytes) -> None:
    try:
        replace_durably(path, _checksum(source, tables) + tables)
    except VaultWriteFailed as error:
        logger.debug("the dictionary was not cached: {}", error)


def _checksum(source: bytes, tables: bytes | memoryview) -> bytes:
    return _hash(tables, key=source, person=_FORMAT).digest()
