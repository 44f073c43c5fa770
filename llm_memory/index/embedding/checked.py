"""Between any embedder and the index: no bad vector, no foreign error, no endless wait."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import EmbeddingFailed
from ..rules.deduplication import MergeThresholds
from ..vector.ports import TextIndex
from .ports import Embedder, Fingerprint
from .vectors import unit_rows

if TYPE_CHECKING:
    from .ports import Vector, Vectors


class CheckedEmbedder:
    """An embedder whose vectors have the right shape, are finite and of unit length, or who raises.

    Every reason begins with a stable code: ``timeout``, ``error``, ``wrong_count``,
    ``wrong_dimension``, ``not_numeric``, ``not_finite``, ``zero_vector``, ``not_prepared``,
    ``closed``, or the code of the embedder inside. Of a foreign error the reason tells the type
    alone: its message may quote the text or a key; the error itself is the cause.

    Args:
        inner: Trusted with nothing.
        query_seconds: After this long a query fails.
        write_seconds: The same for a batch of documents.
        prepare_seconds: The same for loading; None leaves it the time it takes.
    """

    def __init__(
        self,
        inner: Embedder,
        *,
        query_seconds: float,
        write_seconds: float,
        prepare_seconds: float | None = None,
    ) -> None:
        self._inner = inner
        self._query_seconds = query_seconds
        self._write_seconds = write_seconds
        self._prepare_seconds = prepare_seconds
        self._fingerprint: Fingerprint | None = None
        self._running: set[asyncio.Task[Any]] = set()
        self._closed = False
        self.failures = 0
        """Calls that failed so far."""
        self.last_reason = ""
        """Why the latest failure was one; empty while the latest call succeeded."""

    @property
    def label(self) -> str:
        return self._inner.label

    @property
    def merge_thresholds(self) -> MergeThresholds:
        return self._inner.merge_thresholds

    @property
    def colocated_index(self) -> TextIndex | None:
        return self._inner.colocated_index

    async def prepare(self) -> Fingerprint:
        fingerprint: Fingerprint = await self._guarded(self._inner.prepare(), self._prepare_seconds)
        if fingerprint.dim <= 0:
            raise self._failed(f"wrong_dimension: {fingerprint.dim}")
        self._fingerprint = fingerprint
        return fingerprint

    async def embed_query(self, text: str) -> Vector:
        dim = self._dimension()
        answer = await self._guarded(self._inner.embed_query(text), self._query_seconds)
        vector: Vector = self._accepted([answer], 1, dim)[0]
        return vector

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        dim = self._dimension()
        if not texts:  # nothing to ask for; some services refuse an empty list
            return self._accepted([], 0, dim)
        answer = await self._guarded(self._inner.embed_documents(texts), self._write_seconds)
        return self._accepted(answer, len(texts), dim)

    async def close(self) -> None:
        """Ends calls that are under way, then the embedder inside. Idempotent."""
        self._closed = True
        for task in self._running:
            task.cancel()
        await self._inner.close()

    def _dimension(self) -> int:
        if self._fingerprint is None:
            raise self._failed("not_prepared")
        return self._fingerprint.dim

    async def _guarded(self, call: Coroutine[Any, Any, Any], seconds: float | None) -> Any:
        """The call's result. Returns in time even from a call that ignores its cancellation."""
        if self._closed:
            call.close()
            raise self._failed("closed")
        task = asyncio.ensure_future(call)
        self._running.add(task)
        task.add_done_callback(self._finished)
        try:
            await asyncio.wait({task}, timeout=seconds)
        finally:
            task.cancel()  # nothing to a task that is done
        if not task.done():
            raise self._failed(f"timeout: {seconds:g} s")
        return self._result(task)

    def _result(self, task: asyncio.Task[Any]) -> Any:
        if task.cancelled():
            raise self._failed("closed" if self._closed else "error: cancelled")
        error = task.exception()
        if error is None:
            return task.result()
        if isinstance(error, EmbeddingFailed):
            self._failed(str(error))
            raise error
        raise self._failed(f"error: {type(error).__name__}") from error

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # seen, so that asyncio does not print it for an abandoned call

    def _accepted(self, answer: object, count: int, dim: int) -> Vectors:
        try:
            vectors = unit_rows(answer, count, dim)
        except EmbeddingFailed as error:
            self._failed(str(error))
            raise
        self.last_reason = ""
        return vectors

    def _failed(self, reason: str) -> EmbeddingFailed:
        self.failures += 1
        self.last_reason = reason
        return EmbeddingFailed(reason)
