"""The bundled model as an ``Embedder``: the bot's end of a process that does the work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ....errors import EmbeddingFailed
from ...vector.ports import TextIndex
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
        self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="embedding")

    @property
    def label(self) -> str:
        return LABEL

    async def prepare(self) -> Fingerprint:
        """Loads it there."""
        return await self._in_thread(self._process.load_model)

    async def embed_query(self, text: str) -> Vector:
        vector: Vector = (await self._embed([text], is_query=True))[0]
        return vector

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector | None]:
        return list(await self._embed(texts, is_query=False))

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
