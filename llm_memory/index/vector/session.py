"""HTTP to a Chroma server: a deadline, the owner's headers, and each fault by its name."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ...errors import IndexUnavailable

if TYPE_CHECKING:
    import httpx

FAULT: Final = "fault"
DOWN: Final = "server_down"
SLOW: Final = "server_slow"
DENIED: Final = "server_denied"
VERSION: Final = "server_version"

_WHOLE: Final = 5
"""So many times as long as for one piece of it an answer may take: a list of all hashes is long."""
_REACH_SECONDS: Final = 2.0
"""For a connection to be made: a server that is up answers that at once, however busy it is."""
_DENIALS: Final = frozenset({401, 403, 407})
_ABSENT: Final = frozenset({502, 503})
_LATE: Final = frozenset({408, 429, 504})
_UNKNOWN_PATH: Final = frozenset({404, 405, 410})


class Session:
    """What Chroma's own HTTP client asks of its session, less what that lacks or would do.

    It has no deadline, takes a proxy from the environment, and a failure's text from whatever
    answers. Thread-safe.
    """

    def __init__(
        self,
        headers: Mapping[str, str],
        *,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``headers`` go with every request, and never into a text. ``seconds`` without a byte from
        the server are too many, and five times as many for a whole answer."""
        import httpx

        self._seconds = seconds
        self._clock = clock
        self.headers: Mapping[str, str] = {}  # Chroma looks through them for a key of its cloud
        self._secrets = [value for value in headers.values() if value]
        self._client = httpx.Client(
            headers={"Content-Type": "application/json", **headers},
            timeout=httpx.Timeout(seconds, connect=min(seconds, _REACH_SECONDS)),
            limits=httpx.Limits(keepalive_expiry=40.0),
            # Certificates as the environment says, but no proxy: the server is a neighbour, and a
            # proxy, meant for what is far away, would see vectors and headers.
            verify=httpx.create_ssl_context(),
            trust_env=False,
        )

    def request(self, method: str, url: str, **content: Any) -> httpx.Response:
        """A JSON answer of Chroma's, which may be one of its errors.

        Raises:
            IndexUnavailable: there is none; the code says why.
        """
        import httpx

        try:
            response = self._whole(method, url, content)
        except (httpx.ConnectTimeout, httpx.ConnectError) as error:
            raise self._fault(DOWN, error) from error
        except httpx.TimeoutException as error:
            raise self._fault(SLOW, error) from error
        except httpx.DecodingError as error:
            raise self._fault(VERSION, error) from error
        except httpx.HTTPError as error:  # it went while it answered
            raise self._fault(DOWN, error) from error
        code = _code_of(response)
        if code:
            raise IndexUnavailable(f"HTTP {response.status_code}", code=code)
        if any(secret in response.text for secret in self._secrets):
            raise IndexUnavailable("an answer that holds our headers", code=VERSION)
        return response

    def _whole(self, method: str, url: str, content: Mapping[str, Any]) -> httpx.Response:
        """An answer to its end. The client's own deadline is for each piece of it: one that comes
        a byte at a time would never be late."""
        import httpx

        deadline = self._clock() + _WHOLE * self._seconds
        pieces = []
        with self._client.stream(method, url, **content) as response:
            for piece in response.iter_raw():
                pieces.append(piece)
                if self._clock() > deadline:
                    raise httpx.ReadTimeout("an answer without an end", request=response.request)
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            content=b"".join(pieces),
            request=response.request,
        )

    def _fault(self, code: str, error: Exception) -> IndexUnavailable:
        text = str(error)
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return IndexUnavailable(f"{type(error).__name__}: {text}", code=code)

    def close(self) -> None:
        """Let go of the connections. Idempotent."""
        self._client.close()


def _code_of(response: httpx.Response) -> str:
    """Empty for what Chroma itself may have said."""
    status = response.status_code
    if status in _DENIALS:
        return DENIED
    if status in _ABSENT:
        return DOWN
    if status in _LATE:
        return SLOW
    if response.headers.get("content-type", "").startswith("application/json"):
        return ""
    if response.is_success or response.is_redirect or status in _UNKNOWN_PATH:
        return VERSION
    return FAULT
