"""One request to a service, and each fault by its name. Blocks."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections.abc import Iterator
from typing import Any, Final
from urllib.error import URLError
from urllib.parse import urljoin
from urllib.request import HTTPErrorProcessor, OpenerDirector, ProxyHandler, Request, build_opener

from ....errors import EmbeddingFailed
from .address import Address, is_loopback, is_same_service
from .api_key import ApiKey

_PIECE: Final = 1 << 16
_LONGEST: Final = 1 << 26
"""Bytes of an answer. 64 vectors of 4,096 numbers are a tenth of it."""
_HOPS: Final = 3
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_DENIALS: Final = frozenset({401, 402, 403, 407})
_ABSENT: Final = frozenset({404, 405, 410})
_REFUSALS: Final = frozenset({400, 413, 422})


class Rejected(EmbeddingFailed):
    """The service does not take these texts, or not so many at once."""


class HttpClient:
    """A service's endpoint. Thread-safe.

    What a service says in an error is never repeated: it may hold the key or the texts. The errors
    of the libraries below are left out of ours for the same reason, not even as their cause.
    """

    def __init__(self, address: Address, key: ApiKey, *, seconds: float) -> None:
        """``seconds`` without an answer, or with an unfinished one, are too many."""
        self._address = address
        self._key = key
        self._seconds = seconds
        self._opener = _opener(address.url)

    def post(self, body: bytes) -> bytes:
        """Returns what the service answered to JSON.

        Raises:
            Rejected: ``rejected``.
            EmbeddingFailed: ``timeout``, ``unreachable``, ``cut_off``, ``denied``, ``not_found``,
                ``redirected``, ``busy`` or ``unavailable``.
        """
        answer = b""
        try:
            status, answer = self._through(body)
            failure = _failure_of(status, self._address)
        except EmbeddingFailed as error:
            failure = error
        except Exception as error:  # noqa: BLE001  (whatever urllib raises; its text may hold a header)
            failure = self._fault(error)
        if failure is not None:
            raise failure  # out here, so that nothing of `error` comes along
        return answer

    def _through(self, body: bytes) -> tuple[int, bytes]:
        """Status and answer, after redirects within the service."""
        deadline = time.monotonic() + self._seconds
        url = self._address.url
        for _ in range(_HOPS + 1):
            with self._opener.open(
                self._request(url, body), timeout=self._left(deadline)
            ) as answer:
                if answer.status not in _REDIRECTS:
                    wanted = answer.status == http.client.OK
                    return answer.status, b"".join(self._pieces(answer, deadline) if wanted else ())
                target = urljoin(url, answer.headers.get("Location") or "")
            if not is_same_service(url, target):
                break
            url = target
        raise EmbeddingFailed(f"redirected: {self._address.shown} leads elsewhere")

    def _request(self, url: str, body: bytes) -> Request:
        request = Request(url, body, method="POST")  # noqa: S310  (http or https, see `endpoint`)
        request.add_header("Content-Type", "application/json")
        request.add_header("Accept", "application/json")
        request.add_header("User-Agent", "scoped-memory")
        if self._key:
            request.add_unredirected_header("Authorization", self._key.bearer())
        return request

    def _pieces(self, answer: Any, deadline: float) -> Iterator[bytes]:
        """The body. A timeout of the socket's is for each piece of it: one that comes a byte at a
        time would never be late."""
        size = 0
        while piece := answer.read1(_PIECE):
            yield piece
            size += len(piece)
            if size > _LONGEST:
                raise EmbeddingFailed("not_an_answer: an answer without an end")
            self._left(deadline)
        if answer.length:  # read1 takes an end that comes too early for one
            raise http.client.IncompleteRead(b"", answer.length)

    def _left(self, deadline: float) -> float:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _fault(self, error: Exception) -> EmbeddingFailed:
        cause = error.reason if isinstance(error, URLError) else error
        host, kind = self._address.host, type(cause).__name__
        if isinstance(cause, TimeoutError):
            return EmbeddingFailed(f"timeout: {self._seconds:g} s, {host}")
        if isinstance(cause, socket.gaierror):
            return EmbeddingFailed(f"unreachable: {host} is not found")
        if isinstance(cause, ssl.SSLError):
            return EmbeddingFailed(f"unreachable: {host} has no trusted certificate ({kind})")
        if isinstance(error, http.client.HTTPException | ConnectionError):
            return EmbeddingFailed(f"cut_off: {host} ({type(error).__name__})")
        return EmbeddingFailed(f"unreachable: {host} ({kind})")


def _failure_of(status: int, address: Address) -> EmbeddingFailed | None:
    said = f"HTTP {status}, {address.shown}"
    if status == http.client.OK:
        return None
    if status in _DENIALS:
        return EmbeddingFailed(f"denied: {said}")
    if status in _ABSENT:
        return EmbeddingFailed(f"not_found: {said}")
    if status in _REFUSALS:
        return Rejected(f"rejected: {said}")
    if status == http.client.TOO_MANY_REQUESTS:
        return EmbeddingFailed(f"busy: {said}")
    return EmbeddingFailed(f"unavailable: {said}")


class _AnyStatus(HTTPErrorProcessor):
    """Hands every answer over as it is: urllib follows a redirect with the key, or as a GET."""

    def http_response(self, request: Request, response: Any) -> Any:
        return response

    https_response = http_response


def _opener(url: str) -> OpenerDirector:
    """With the proxies that the environment names, but none to this machine itself."""
    return build_opener(ProxyHandler({}) if is_loopback(url) else ProxyHandler(), _AnyStatus)
