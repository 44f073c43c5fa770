"""Where a service takes texts, from the address that its owner gives. Pure."""

from __future__ import annotations

import ipaddress
from typing import Final, NamedTuple
from urllib.parse import SplitResult, urlsplit, urlunsplit

from ....errors import InvalidService

_ENDPOINT: Final = "/embeddings"
_PORTS: Final = {"http": 80, "https": 443}


class Address(NamedTuple):
    """An endpoint that takes texts.

    Attributes:
        url: To post to. A query in it may hold a secret: not for texts.
        host: Its host, with the port where that is not the scheme's own.
        shown: The URL without its query.
    """

    url: str
    host: str
    shown: str


def endpoint(base: str) -> Address:
    """Returns the endpoint of a service that speaks OpenAI's embeddings protocol.

    ``base`` may be the endpoint itself, or what lies above it: ``https://api.example.com/v1``. A
    host alone is taken to have it below ``/v1``, as Ollama, vLLM and LM Studio do.

    Raises:
        InvalidService: it is no http or https address, or holds a user's name or password.
    """
    try:
        parts = urlsplit(base.strip())
        host = _host(parts)
    except ValueError:  # brackets that do not match, a port that is no number
        raise InvalidService("service.no_url") from None
    if parts.scheme not in _PORTS or not host or any(c.isspace() or c < " " for c in base.strip()):
        raise InvalidService("service.no_http")
    if "@" in parts.netloc:
        raise InvalidService("service.user_in_address")
    path = parts.path.rstrip("/")
    if not path.endswith(_ENDPOINT):
        path = f"{path or '/v1'}{_ENDPOINT}"
    try:
        path.encode("ascii")
    except UnicodeEncodeError:
        raise InvalidService("service.no_ascii") from None
    whole = parts._replace(path=path, fragment="")
    return Address(urlunsplit(whole), host, urlunsplit(whole._replace(query="")))


def is_same_service(url: str, other: str) -> bool:
    """Whether a key for ``url`` may be shown at ``other``: the same host and port, or the same host
    encrypted where it was not."""
    try:
        one, two = urlsplit(url), urlsplit(other)
        if _port(one) == _port(two) and one.scheme == two.scheme:
            return one.hostname == two.hostname
        upgraded = (_port(one), _port(two)) == (80, 443)
        return upgraded and two.scheme == "https" and one.hostname == two.hostname
    except ValueError:
        return False


def is_loopback(url: str) -> bool:
    """Whether the address is on this machine, where no proxy stands between."""
    name = urlsplit(url).hostname or ""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _host(parts: SplitResult) -> str:
    name = parts.hostname or ""
    port = parts.port
    shown = f"[{name}]" if ":" in name else name
    return shown if port is None or port == _PORTS.get(parts.scheme) else f"{shown}:{port}"


def _port(parts: SplitResult) -> int | None:
    return parts.port or _PORTS.get(parts.scheme)
