"""A service that speaks OpenAI's embeddings protocol, as a raw embedder: over httpx."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from base64 import b64decode
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin

from ....errors import EmbeddingFailed, InvalidService
from .address import endpoint, is_loopback, is_same_service
from .api_key import ApiKey

if TYPE_CHECKING:
    import httpx

_AT_ONCE: Final = 4
"""Requests under way."""
_LONGEST: Final = 1 << 26
"""Bytes of an answer. 64 vectors of 4,096 numbers are a tenth of it."""
_HOPS: Final = 3


class EmbeddingService:
    """OpenAI, Ollama, SiliconFlow, vLLM, LM Studio, …: ``POST <base>/embeddings``.

    A ``RawEmbedder``. What a service says in an error is never repeated, for it may hold the key or
    the texts; nor are the errors of the libraries below, not even as the cause of ours.

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
        self._address = endpoint(base)
        self.label = f"service:{self._address.host}"
        self.model = model.strip()
        self._key = ApiKey(key)
        self._seconds = seconds
        self._client: httpx.AsyncClient | None = None

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Returns one vector per text, by one request.

        Raises:
            EmbeddingFailed: ``timeout``, ``unreachable``, ``cut_off``, ``denied``, ``quota``,
                ``busy``, ``not_found``, ``rejected``, ``redirected``, ``unavailable`` or
                ``not_an_answer``.
        """
        import httpx

        vectors: Sequence[Sequence[float]] = ()
        failure: EmbeddingFailed | None = None
        try:
            async with asyncio.timeout(self._seconds):
                if self._client is None:
                    self._client = await asyncio.to_thread(self._made)
                answer = await self._posted(self._client, list(texts))
            vectors = await asyncio.to_thread(_vectors, answer, len(texts))
        except EmbeddingFailed as error:
            failure = error
        except (TimeoutError, httpx.TimeoutException):
            failure = EmbeddingFailed(f"timeout: {self._seconds:g} s, {self._address.host}")
        except (OSError, httpx.HTTPError, httpx.InvalidURL) as error:
            failure = self._fault(error, has_begun=not isinstance(error, httpx.ConnectError))
        if failure is not None:  # nothing comes along of an error, or of what a log shows beside it
            raise failure.with_traceback(None)
        return vectors

    def _made(self) -> httpx.AsyncClient:
        """Blocks: it reads certificates. Nothing stays open between two requests. The environment
        names proxies, but none to this machine itself."""
        import httpx

        for name in ("httpx", "httpcore"):  # they log addresses and answers: a key may be in them
            logging.getLogger(name).setLevel(logging.WARNING)
        return httpx.AsyncClient(
            headers={"User-Agent": "scoped-memory", "Accept-Encoding": "identity"},
            limits=httpx.Limits(max_connections=_AT_ONCE, max_keepalive_connections=0),
            timeout=self._seconds,  # of each piece; of the whole, see `embed`
            trust_env=not is_loopback(self._address.url),
        )

    async def _posted(self, client: httpx.AsyncClient, texts: list[str]) -> bytes:
        """What was answered, after redirects within the service. Raises EmbeddingFailed."""
        url, body = self._address.url, json.dumps({"model": self.model, "input": texts}).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = self._key.bearer()
        for _ in range(_HOPS + 1):
            async with client.stream("POST", url, content=body, headers=headers) as answer:
                if not answer.has_redirect_location:
                    return self._accepted(answer.status_code, await _whole(answer))
                target = urljoin(url, answer.headers["Location"])
            if not is_same_service(url, target):
                break
            url = target
        raise EmbeddingFailed(f"redirected: {self._address.shown} leads elsewhere")

    def _accepted(self, status: int, answer: bytes) -> bytes:
        """Raises EmbeddingFailed for any status but 200."""
        said = f"HTTP {status}, {self._address.shown}"
        match status:
            case 200:
                return answer
            case 401 | 402 | 403 | 407:
                raise EmbeddingFailed(f"denied: {said}")
            case 404 | 405 | 410:
                raise EmbeddingFailed(f"not_found: {said}")
            case 400 | 413 | 422:
                raise EmbeddingFailed(f"rejected: {said}")
            case 429 if b"quota" in answer:
                raise EmbeddingFailed(f"quota: {said}")
            case 429:
                raise EmbeddingFailed(f"busy: {said}")
            case _:
                raise EmbeddingFailed(f"unavailable: {said}")

    def _fault(self, error: Exception, *, has_begun: bool) -> EmbeddingFailed:
        """By the kind of what lies at the bottom, such as ``gaierror``."""
        cause: BaseException = error
        while (below := cause.__cause__ or cause.__context__) is not None:
            cause = below
        said = f"{self._address.host} ({type(cause).__name__})"
        if has_begun:
            return EmbeddingFailed(f"cut_off: {said}")
        return EmbeddingFailed(f"unreachable: {said}")


async def _whole(answer: httpx.Response) -> bytes:
    pieces, size = [], 0
    async for piece in answer.aiter_raw():
        size += len(piece)
        if size > _LONGEST:
            raise EmbeddingFailed("not_an_answer: an answer without an end")
        pieces.append(piece)
    return b"".join(pieces)


def _vectors(body: bytes, count: int) -> list[Sequence[float]]:
    """One vector per text, in the order of the texts; empty where none belongs to it. Blocks.

    ``body`` is JSON with a list ``data`` of objects. ``embedding`` is a list of numbers or base64;
    ``index`` says which text it belongs to, and may be missing from all of them.
    """
    rows: list[dict[str, Any]] | None = None
    with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
        rows = json.loads(body)["data"]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise EmbeddingFailed("not_an_answer: no embedding service answers so")
    places = [row.get("index") for row in rows]
    vectors = [_vector(row.get("embedding")) for row in rows]
    if all(place is None for place in places):
        return vectors
    by_place = {at: row for at, row in zip(places, vectors, strict=True) if type(at) is int}
    return [by_place.get(place, ()) for place in range(count)]


def _vector(embedding: object) -> Sequence[float]:
    """Of what is no vector an empty one, which costs its own text alone. In base64 the numbers are
    little-endian, of single precision."""
    import numpy as np

    if isinstance(embedding, str):
        numbers: list[float] = []
        with contextlib.suppress(ValueError):  # no base64, or no whole number
            numbers = np.frombuffer(b64decode(embedding, validate=True), "<f4").tolist()
        return numbers
    # bool is an int to Python, and no number of a vector.
    if isinstance(embedding, list) and all(type(number) in (float, int) for number in embedding):
        return embedding
    return ()
