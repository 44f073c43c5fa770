"""A service that speaks OpenAI's embeddings protocol, as a raw embedder: over httpx."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import zlib
from collections.abc import Sequence
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ....errors import EmbeddingFailed, InvalidService
from ..failures import code_of
from .address import bearer, endpoint, is_loopback

if TYPE_CHECKING:
    import httpx

_AT_ONCE: Final = 4
"""Requests under way."""
_LONGEST: Final = 64 << 20
"""Bytes of an answer. 64 vectors of 4,096 numbers are a tenth of it."""
_GZIP: Final = b"\x1f\x8b"
"""What it begins with, and no JSON does."""


class EmbeddingService:
    """OpenAI, Ollama, SiliconFlow, vLLM, LM Studio, …: ``POST <base>/embeddings``.

    A ``RawEmbedder``. What a service says in an error is never repeated, for it may hold the key or
    the texts; nor are the errors of the libraries below, not even as the cause of ours. It is
    followed nowhere: the key is its own.

    Args:
        base: The service's address; see ``endpoint``.
        model: The model's name, as the service calls it.
        key: Sent as a bearer token; in no representation, log or error. Empty for none.

    Raises:
        InvalidService: the address, the name or the key cannot be used.
    """

    def __init__(self, base: str, model: str, *, key: str = "") -> None:
        if not model.strip():
            raise InvalidService("service.no_model")
        self._url = endpoint(base)
        self._host = urlsplit(self._url).netloc
        self.label = f"service:{self._host}"
        self.model = model.strip()
        self._bearer = bearer(key)
        self._client: httpx.AsyncClient | None = None

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Returns one vector per text, by one request, which has no deadline of its own.

        Raises:
            EmbeddingFailed: ``unreachable``, ``not_an_answer`` (of one that is larger than 64 MB,
                too), or what ``failures`` says of the answer's status.
        """
        if self._client is None:  # 80 ms that the loop must not be held for
            await asyncio.to_thread(import_module, "httpx")
        import httpx

        try:
            if self._client is None:
                self._client = await asyncio.to_thread(self._made)
            body = {"model": self.model, "input": list(texts)}
            posted = self._client.stream("POST", self._url, json=body, headers=self._bearer())
            async with posted as answer:
                pieces = await _pieces(answer)
            return await asyncio.to_thread(self._read, answer.status_code, pieces, len(texts))
        except EmbeddingFailed as error:
            failure = error
        except (OSError, httpx.HTTPError, httpx.InvalidURL) as error:
            failure = EmbeddingFailed(f"unreachable: {self._host} ({type(error).__name__})")
        # Nothing comes along of an error, or of what a log shows beside it.
        raise failure.with_traceback(None)

    def _made(self) -> httpx.AsyncClient:
        """Blocks: it reads certificates. Nothing stays open between two requests. The environment
        names proxies, but none to this machine itself."""
        import anyio
        import httpx

        anyio.run(anyio.sleep, 0)  # the first request imports the same, on the loop
        for name in ("httpx", "httpcore"):  # they log addresses and answers: a key may be in them
            logging.getLogger(name).setLevel(logging.WARNING)
        return httpx.AsyncClient(
            headers={"User-Agent": "scoped-memory", "Accept-Encoding": "identity"},
            limits=httpx.Limits(max_connections=_AT_ONCE, max_keepalive_connections=0),
            timeout=None,  # noqa: S113  # the guard has one
            trust_env=not is_loopback(self._url),
        )

    def _read(self, status: int, pieces: Sequence[bytes], count: int) -> Sequence[Sequence[float]]:
        """Blocks."""
        body = b"".join(pieces)
        if body.startswith(_GZIP):  # some proxies pack whatever was asked for
            with contextlib.suppress(zlib.error):
                body = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(body, _LONGEST)
        if status == HTTPStatus.OK:
            return _vectors(body, count)
        code = code_of(str(status), body.decode(errors="replace"))
        raise EmbeddingFailed(f"{code}: HTTP {status}, {self._url.partition('?')[0]}")


async def _pieces(answer: httpx.Response) -> list[bytes]:
    """As they come: httpx would unpack them on the loop, and a small one could fill the memory.

    Raises EmbeddingFailed."""
    pieces: list[bytes] = []
    size = 0
    async for piece in answer.aiter_raw():
        size += len(piece)
        if size > _LONGEST:
            raise EmbeddingFailed("not_an_answer: it is larger than 64 MB")
        pieces.append(piece)
    return pieces


def _vectors(body: bytes, count: int) -> list[Sequence[float]]:
    """One vector per text, in the order of the texts; empty where none belongs to it. Blocks.

    ``body`` is JSON with a list ``data`` of objects. ``embedding`` is a list of numbers; ``index``
    says which text it belongs to, and may be missing from all of them.
    """
    rows: list[dict[str, Any]] | None = None
    with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
        rows = json.loads(body)["data"]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise EmbeddingFailed("not_an_answer: no embedding service answers so")
    places = [row.get("index") for row in rows]
    # bool is an int to Python, and no number of a vector.
    vectors: list[Sequence[float]] = [
        vector if isinstance(vector, list) and {*map(type, vector)} <= {float, int} else ()
        for vector in (row.get("embedding") for row in rows)
    ]
    if all(place is None for place in places):
        return vectors
    by_place = {at: row for at, row in zip(places, vectors, strict=True) if type(at) is int}
    return [by_place.get(place, ()) for place in range(count)]
