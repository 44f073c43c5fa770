"""A service that speaks OpenAI's embeddings protocol, as a raw embedder."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from ....errors import EmbeddingFailed, InvalidService
from .address import endpoint
from .answer import vectors_in
from .api_key import ApiKey
from .http_client import HttpClient, Rejected

_TEXTS: Final = 64
"""Texts in a request, until a service turns out to take fewer."""
_REQUEST_CHARACTERS: Final = 100_000
"""Characters in a request: services limit its tokens, too."""
_TEXT_CHARACTERS: Final = 6_000
"""Characters of a text that are sent. A longer one would be refused: most models read no more than
8,192 tokens, which 6,000 Han characters come close to. Passages are a fifth of it."""
_AT_ONCE: Final = 4
"""Requests under way. A service that hangs holds so many threads and no more."""


class EmbeddingService:
    """OpenAI, Ollama, SiliconFlow, vLLM, LM Studio, …: ``POST <base>/embeddings``.

    A ``RawEmbedder``; belongs inside a ``ProviderEmbedder``, that inside a ``CheckedEmbedder``.
    Needs the standard library alone. Its threads are daemons: a request that hangs holds up no
    program's end.

    Args:
        base: The service's address; see ``endpoint``.
        model: The model's name, as the service calls it.
        key: Sent as a bearer token; in no representation, log or error. Empty for none.
        seconds: After this long a request has failed.

    Raises:
        InvalidService: the address, the name or the key cannot be used.
    """

    def __init__(self, base: str, model: str, *, key: str = "", seconds: float = 30.0) -> None:
        if not model.strip():
            raise InvalidService("service.no_model")
        address = endpoint(base)
        self.label = f"service:{address.host}"
        self.model = model.strip()
        self._client = HttpClient(address, ApiKey(key), seconds=seconds)
        self._at_once = asyncio.Semaphore(_AT_ONCE)
        self._texts = _TEXTS

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Returns one vector per text. Raises EmbeddingFailed: see ``HttpClient.post`` and
        ``vectors_in``."""
        vectors: list[Sequence[float]] = []
        # Stripped first: services refuse a blank text, which the beginning of one may be.
        for batch in self._batches([text.strip()[:_TEXT_CHARACTERS] for text in texts]):
            vectors += await self._in_thread(partial(self._vectors, batch))
        return vectors

    def _batches(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        start = size = 0
        for place, text in enumerate(texts):
            if place - start >= self._texts or (size + len(text) > _REQUEST_CHARACTERS and size):
                yield texts[start:place]
                start, size = place, 0
            size += len(text)
        if texts:
            yield texts[start:]

    def _vectors(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """Of one request, or of several where the service takes no list of this length."""
        body = json.dumps({"model": self.model, "input": list(texts)}).encode()
        try:
            return vectors_in(self._client.post(body), len(texts))
        except Rejected:
            if len(texts) == 1:
                raise
        half = (len(texts) + 1) // 2
        found = [*self._vectors(texts[:half]), *self._vectors(texts[half:])]
        # It took every text, so it was their number that it refused.
        self._texts = min(self._texts, half)
        return found

    async def _in_thread[T](self, call: Callable[[], T]) -> T:
        """The call's result, from a thread that is left behind where the caller gives up."""
        await self._at_once.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def give(result: T | None, error: BaseException | None) -> None:
            self._at_once.release()
            if answer.cancelled():
                return
            if error is not None:
                answer.set_exception(error)
                return
            answer.set_result(result)  # type: ignore[arg-type]  # of a call that has returned

        def work() -> None:
            result: T | None = None
            error: BaseException | None = None
            try:
                result = call()
            except EmbeddingFailed as failed:
                # A log that shows variables beside the traceback would show what was answered.
                error = failed.with_traceback(None)
            except BaseException as raised:  # noqa: BLE001  (whatever it was, its caller hears it)
                error = raised
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(give, result, error)

        try:
            threading.Thread(target=work, name="scoped-memory-service", daemon=True).start()
        except RuntimeError:  # the system has no thread left
            self._at_once.release()
            raise
        return await answer
