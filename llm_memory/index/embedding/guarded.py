"""Between any embedder and the engine: no bad vector, no foreign error, no endless wait, and no
service asked again and again that cannot answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from itertools import batched
from typing import TYPE_CHECKING, Any, Final

from ...errors import EmbeddingFailed
from ...models.settings import EngineSettings
from .failures import AT_REST, OF_THE_TEXT, OUTAGES, failure_of
from .ports import CONTROL, Embedder, Fingerprint, unit

if TYPE_CHECKING:
    from .ports import Vector

    type Rows = list[Vector | None]

_TEXTS: Final = 64
"""Texts in a call, until an embedder turns out to take fewer."""
_TEXT_CHARACTERS: Final = 6_000
"""Characters of a text that are embedded. A longer one would be refused: most models read no more
than 8,192 tokens, which 6,000 Han characters come close to. Passages are a fifth of it."""
_REST: Final = 15
"""So many times as long as others wait before they try again: a quarter of an hour at last."""


class GuardedEmbedder:
    """An embedder whose vectors have the right shape, are finite and of unit length, or who raises.

    Every reason begins with a stable code: one of ``failures``, of ``unit``,
    ``model_changed``, ``not_prepared``, ``closed``, or one of the embedder inside. What it cannot
    take for what it is costs one text its vector and nothing else.

    After an outage it rests: nobody waits for it, and it is asked a few times an hour, by one call
    at a time, until one succeeds. Meanwhile every call fails with the reason of the first.

    Args:
        inner: Trusted with nothing.
        settings: After how long a query and a batch of documents fail, and the pace of retries.
        prepare_seconds: After this long loading fails.
    """

    def __init__(
        self, inner: Embedder, settings: EngineSettings, prepare_seconds: float = 300.0
    ) -> None:
        self.label = inner.label
        self._inner = inner
        self._settings = settings
        self._prepare_seconds = prepare_seconds
        self._fingerprint: Fingerprint | None = None
        self._texts = _TEXTS
        self._running: set[asyncio.Task[Any]] = set()
        self._closed = False
        self._outage: EmbeddingFailed | None = None
        self._failures = 0
        self._rests_until = 0.0

    async def prepare(self) -> Fingerprint:
        self._fingerprint = await self._asked(self._inner.prepare, self._prepare_seconds)
        return self._fingerprint

    async def embed_query(self, text: str) -> Vector:
        space, sent = self._space(), _sendable(text)
        answer = await self._asked(
            lambda: self._inner.embed_query(sent), self._settings.embed_query_seconds
        )
        try:
            return unit(answer, space.dim)
        except EmbeddingFailed as error:
            await self._control(space)
            raise EmbeddingFailed(f"no_vector: {error}") from error

    async def embed_documents(self, texts: Sequence[str]) -> Rows:
        space = self._space()
        found: Rows = []
        for some in batched(map(_sendable, texts), self._texts):
            rows = await self._rows(some, space)
            if rows is None or not any(row is not None for row in rows):
                await self._control(space)
            found += await self._halves(some, space) if rows is None else rows
        return found

    async def close(self) -> None:
        """Ends calls that are under way, then the embedder inside. Idempotent."""
        self._closed = True
        for task in self._running:
            task.cancel()
        await self._inner.close()

    def _space(self) -> Fingerprint:
        if self._fingerprint is None:
            raise EmbeddingFailed("closed" if self._closed else "not_prepared")
        return self._fingerprint

    async def _rows(self, texts: Sequence[str], space: Fingerprint) -> Rows | None:
        """Of one call; None where it does not take these texts, or not so many."""
        call = self._inner.embed_documents
        try:
            answer: object = await self._asked(
                lambda: call(texts), self._settings.embed_write_seconds
            )
        except EmbeddingFailed as error:
            if error.code not in OF_THE_TEXT:
                raise
            return None
        rows = list(answer) if isinstance(answer, Iterable) else []
        return [_row(row, space.dim) for row in rows] if len(rows) == len(texts) else None

    async def _halves(self, texts: Sequence[str], space: Fingerprint) -> Rows:
        """The same of texts that were refused together; one that is refused alone has none."""
        if len(texts) == 1:
            return [None]
        half = (len(texts) + 1) // 2
        found: Rows = []
        for some in (texts[:half], texts[half:]):
            rows = await self._rows(some, space)
            found += await self._halves(some, space) if rows is None else rows
        if all(row is not None for row in found):
            self._texts = min(self._texts, half)  # so it was their number that it refused
        return found

    async def _control(self, space: Fingerprint) -> None:
        """Raises EmbeddingFailed where the embedder is at fault, and not what it was given."""
        answer = await self._asked(
            lambda: self._inner.embed_query(CONTROL), self._settings.embed_write_seconds
        )
        vector = unit(answer, 0)
        if len(vector) != space.dim:
            raise EmbeddingFailed(f"model_changed: {len(vector)} numbers instead of {space.dim}")

    async def _asked[T](self, call: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> T:
        """The call's result. Returns in time even from a call that ignores its cancellation."""
        now = asyncio.get_running_loop().time()
        if self._closed:
            raise EmbeddingFailed("closed")
        if self._outage is not None:
            if now < self._rests_until:
                raise EmbeddingFailed(str(self._outage))
            self._rests_until = now + seconds  # others do not try it as well
        task = asyncio.ensure_future(call())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        # Seen, so that asyncio does not print the error of an abandoned call.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            await asyncio.wait({task}, timeout=seconds)
        finally:
            task.cancel()  # nothing to a task that is done
        try:
            result = task.result()
        except asyncio.CancelledError:
            raise EmbeddingFailed("closed") from None
        except asyncio.InvalidStateError:  # it is not done
            raise self._failed(EmbeddingFailed(f"timeout: {seconds:g} s")) from None
        except EmbeddingFailed as error:
            self._failed(error)
            raise
        except Exception as error:
            raise self._failed(failure_of(error)) from error
        self._outage, self._failures = None, 0
        return result

    def _failed(self, error: EmbeddingFailed) -> EmbeddingFailed:
        """The first failure may have been a hiccup, unless it says that it was none."""
        if error.code not in OUTAGES:
            self._outage, self._failures = None, 0
            return error
        self._failures += 1
        pace = self._settings.pace
        waits = pace.retry(self._failures - 2) if self._failures > 1 else 0.0
        if error.code in AT_REST:
            waits = pace.retry_seconds[-1]
        self._outage = self._outage or error
        self._rests_until = asyncio.get_running_loop().time() + _REST * waits
        return error


def _row(answer: object, dim: int) -> Vector | None:
    try:
        return unit(answer, dim)
    except EmbeddingFailed:
        return None


def _sendable(text: str) -> str:
    """Cut, without halves of surrogate pairs, which no request can carry, and without the zero that
    ends a text in C; never empty, which many services refuse."""
    whole = text.strip()[:_TEXT_CHARACTERS].replace("\0", " ").encode(errors="replace").decode()
    return whole if whole.strip() else "."
