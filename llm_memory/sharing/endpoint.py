"""The file that says where a store's owner listens. Who can read it may call."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

PROTOCOL: Final = 1
"""Changes with whatever an older program would misread."""
FILE_NAME: Final = "endpoint.json"
_PRIVATE: Final = 0o600


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Attributes:
    host: A loopback address, unless the owner's port is published by hand.
    token: What a caller has to show.
    protocol: The owner's ``PROTOCOL``.
    """

    host: str
    port: int
    token: str
    pid: int
    protocol: int = PROTOCOL

    @classmethod
    def at(cls, host: str, port: int) -> Endpoint:
        """Returns a new one of this process, with a random token."""
        return cls(host, port, secrets.token_urlsafe(32), os.getpid())

    def request(self, name: str, arguments: Mapping[str, object]) -> bytes:
        """Returns the bytes of a call, as HTTP."""
        body = json.dumps(arguments).encode()
        head = (
            f"POST /v{PROTOCOL}/{name} HTTP/1.1\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def write(self, folder: Path) -> None:
        """Write the file, for this user alone. Blocks. Raises OSError."""
        path = folder / f".{FILE_NAME}.{self.pid}"
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "w") as file:
            json.dump(asdict(self), file)
        path.replace(folder / FILE_NAME)

    def remove(self, folder: Path) -> None:
        """Remove the file, unless it is another owner's by now. Blocks."""
        if read_endpoint(folder) == self:
            with contextlib.suppress(OSError):
                (folder / FILE_NAME).unlink()


def parse_answer(told: bytes) -> tuple[int, Any]:
    """Returns the status and the content of all that an owner sent. Raises ValueError, IndexError,
    and RecursionError where it is damaged."""
    said, _, answer = told.partition(b"\r\n\r\n")
    return int(said.split(b" ")[1]), json.loads(answer)


def read_endpoint(folder: Path) -> Endpoint | None:
    """Returns what the file says; None where there is none, or a damaged one. Blocks."""
    try:
        raw = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
        found = Endpoint(**raw)
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    kinds = (found.host, str), (found.port, int), (found.token, str), (found.protocol, int)
    return found if all(isinstance(value, kind) for value, kind in kinds) else None
