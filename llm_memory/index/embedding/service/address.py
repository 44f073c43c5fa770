"""What an owner says of a service: where it takes texts, and the key, which goes nowhere else."""

from __future__ import annotations

import ipaddress
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from ....errors import InvalidService

_ENDPOINT: Final = "/embeddings"
_LONGEST: Final = 4096
"""Bytes of a key file. Real keys are a tenth of it; anything longer is another file."""


def endpoint(base: str) -> str:
    """Returns the URL of a service that speaks OpenAI's embeddings protocol,
    to post to. A query in it may hold a secret: not for texts.

    ``base`` may be the endpoint itself, or what lies above it: ``https://api.example.com/v1``. A
    host alone is taken to have it below ``/v1``, as Ollama, vLLM and LM Studio do.

    Raises:
        InvalidService: it is no http or https address, or holds a user's name or password.
    """
    base = base.strip()
    try:
        parts = urlsplit(base)
        name, _ = parts.hostname, parts.port
    except ValueError:  # brackets that do not match, a port that is no number
        raise InvalidService("service.no_url") from None
    if (
        parts.scheme not in {"http", "https"}
        or not name
        or any(c.isspace() or c < " " for c in base)
    ):
        raise InvalidService("service.no_http")
    if "@" in parts.netloc:
        raise InvalidService("service.user_in_address")
    path = parts.path.rstrip("/")
    if not path.endswith(_ENDPOINT):
        path = f"{path or '/v1'}{_ENDPOINT}"
    return urlunsplit(parts._replace(path=path, fragment=""))


def is_loopback(url: str) -> bool:
    """Whether the address is on this machine, where no proxy stands between."""
    name = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def bearer(key: str) -> Callable[[], dict[str, str]]:
    """Returns what makes the header with the key, none for an empty one: the key is in no
    representation of it. Raises InvalidService for a text that no request can carry."""
    if not all("!" <= character <= "~" for character in key):
        raise InvalidService("service.key_characters")
    return lambda: {"Authorization": f"Bearer {key}"} if key else {}


def key_from(environ: Mapping[str, str], variable: str, file: Path | None) -> str:
    """Returns the key in the file if one is named, else the one in the environment variable; empty
    where neither has one.

    The file comes first: a person has named it for this service, while the variable has a default
    and may hold the key of another service.

    Args:
        environ: The environment.
        variable: The variable's name; empty for none.
        file: A file with the key alone; None for none. On POSIX its owner alone may read it.

    Raises:
        InvalidService: the file is missing, holds something else than one key, or others than its
            owner may read it.
    """
    if file is None:
        return environ.get(variable, "").strip() if variable else ""
    # A file that is not there is not named: a person may have put the key itself in its place.
    try:
        if not file.is_file():
            raise InvalidService("service.no_key_file")
        with file.open("rb") as opened:
            status = os.fstat(opened.fileno())
            content = opened.read(_LONGEST + 1)
    except OSError as error:
        raise InvalidService("service.key_unreadable", why=type(error).__name__) from None
    if os.name == "posix" and stat.S_IMODE(status.st_mode) & 0o077:
        raise InvalidService("service.key_open", path=file)
    # Whatever is no text becomes characters that no key has: a decoding error would quote it.
    text = content.decode("utf-8-sig", errors="replace").strip()
    if not text or len(content) > _LONGEST or len(text.split()) > 1 or not text.isascii():
        raise InvalidService("service.key_alone", path=file)
    return text
