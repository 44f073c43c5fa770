"""The bundled model as an ``Embedder``: the bot's end of a process that does the work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ....errors import EmbeddingFailed
from ...rules.deduplication import CAUTIOUS, MergeThresholds
from ...vector.ports import TextIndex
from ..languages import (
    PROBE_MEMORIES,
    PROBE_QUERIES,
    Language,
    check_language,
    unsupported_languages,
)
from ..merge_calibration import MERGE_PROBES, merge_thresholds
from ..ports import Fingerprint
from .bundled_model import LABEL

if TYPE_CHECKING:
    from ..ports import Vector, Vectors

_CALL = 8
"""Documents in a call: whoever gives up need not wait for more, and a query for none of them."""
_THREADS = 4


class EmbeddingProcess(Protocol):
    """Where a bundled model runs. Every method blocks and may raise EmbeddingFailed; ``died`` where
    the process ended meanwhile."""

    def load_model(self) -> Fingerprint:
        """Start the process if need be, and load the model there. Idempotent."""
        ...

    def embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        """Unit rows, shape ``(len(texts), dim)``."""
        ...

    def close(self) -> None:
        """End it. Idempotent."""
        ...


class BundledEmbedder:
    """A model in another process, beside the index where that lies on our own disk.

    Args:
        process: Where it runs.
        index: The index where that process holds it; it is ended with the index then.
    """

    def __init__(self, process: EmbeddingProcess, *, index: TextIndex | None) -> None:
        self._process = process
        self._index = index
        self._unsupported: frozenset[Language] = frozenset()
        self._merge_thresholds = CAUTIOUS
        self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="embedding")

    @property
    def label(self) -> str:
        return LABEL

    @property
    def merge_thresholds(self) -> MergeThresholds:
        return self._merge_thresholds

    @property
    def colocated_index(self) -> TextIndex | None:
        # A query in a language that the model cannot read is refused here.
        return None if self._unsupported else self._index

    async def prepare(self) -> Fingerprint:
        """Loads it there and measures it on a few built-in sentences."""
        fingerprint = await self._in_thread(self._process.load_model)
        queries = await self._embed(PROBE_QUERIES, is_query=True)
        memories = await self._embed(PROBE_MEMORIES, is_query=False)
        statements = await self._embed(MERGE_PROBES, is_query=False)
        self._unsupported = unsupported_languages(queries, memories)
        self._merge_thresholds = merge_thresholds(statements, self._unsupported)
        return fingerprint

    async def embed_query(self, text: str) -> Vector:
        check_language(text, self._unsupported)
        vector: Vector = (await self._embed([text], is_query=True))[0]
        return vector

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return await self._embed(texts, is_query=False)

    async def close(self) -> None:
        """What holds the index is ended with the index."""
        if self._index is None:
            await asyncio.to_thread(self._process.close)
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def _embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        import numpy as np

        parts = []
        for start in range(0, len(texts), _CALL):
            ask = partial(self._process.embed, texts[start : start + _CALL], is_query=is_query)
            parts.append(await self._in_thread(ask))
        return np.concatenate(parts)

    async def _in_thread[T](self, call: Callable[[], T]) -> T:
        try:
            future = self._executor.submit(call)
        except RuntimeError as error:  # shut down
            raise EmbeddingFailed("closed") from error
        return await asyncio.wrap_future(future)
