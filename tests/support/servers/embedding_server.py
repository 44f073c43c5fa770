"""A service on loopback that speaks OpenAI's embeddings protocol, in all the states that it has."""

from __future__ import annotations

import json
import re
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from astrbot_plugin_scoped_memory.harness.waiting import free_port

HOST = "127.0.0.1"
CANARY = "sk-canary-5f0d1c"
"""A key, which may be shown in a request alone."""
TEXTS = ["Anna prefers green tea", "the printer needs paper", "奶奶对花生过敏"]


@dataclass(frozen=True)
class Asked:
    """A request as it came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        """What was to be embedded."""
        return list(self.body["input"])


type Act = Callable[[BaseHTTPRequestHandler, Asked], None]
"""Answers a request, or does something else with its connection."""


@dataclass
class EmbeddingServer:
    """Hashed words as vectors, under ``/v1/embeddings``. Keeps its port through stops and starts:
    no other program can take it meanwhile.

    Attributes:
        dim: Of a vector.
        next: What is done with the next requests, one each.
        always: What is done with every other one; None answers well.
        asked: Every request so far.
        port: Where it listens, 0 before the first start.
    """

    dim: int = 64
    next: list[Act] = field(default_factory=list)
    always: Act | None = None
    asked: list[Asked] = field(default_factory=list)
    port: int = 0
    _server: ThreadingHTTPServer | None = None
    _thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address as an owner would give it."""
        return f"http://{HOST}:{self.port}/v1"

    def start(self) -> None:
        """Listen."""
        service = self

        class Handler(_Handler):
            server_of_vectors = service

        self.port = self.port or free_port()
        self._server = ThreadingHTTPServer((HOST, self.port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self._thread.start()

    def stop(self) -> None:
        """Refuse connections from now on. Idempotent."""
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
            self._server = None

    def vector(self, text: str) -> list[float]:
        """Hashed words and Han characters; never of zeros, never of unit length."""
        found = [0.01] * self.dim
        for word in re.findall(r"[a-z]{3,}|[\u4e00-\u9fff]", text.lower()):
            found[zlib.crc32(word.encode()) % self.dim] += 1.0
        return found

    def rows(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """The list ``data`` of a good answer."""
        return [
            {"object": "embedding", "index": place, "embedding": self.vector(text)}
            for place, text in enumerate(texts)
        ]


class _Handler(BaseHTTPRequestHandler):
    server_of_vectors: EmbeddingServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        service = self.server_of_vectors
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = Asked(self.path, dict(self.headers.items()), json.loads(raw))
        service.asked.append(asked)
        act = service.next.pop(0) if service.next else service.always
        with suppress(OSError):  # the one that asked may have left
            if act is not None:
                act(self, asked)
            elif self.path == "/v1/embeddings":
                answer(self, 200, {"object": "list", "data": service.rows(asked.texts)})
            else:
                answer(self, 404, {"error": "no such path"})

    def do_GET(self) -> None:
        self.server_of_vectors.asked.append(Asked(f"GET {self.path}", dict(self.headers), {}))
        answer(self, 405, {})

    def log_message(self, *_: object) -> None:
        """Nothing."""


def answer(
    handler: BaseHTTPRequestHandler,
    status: int,
    content: Any,
    *,
    cut: int = 0,
    headers: dict[str, str] | None = None,
) -> None:
    """Send JSON, or bytes as they are. ``cut`` closes the connection so many bytes too early."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body[: len(body) - cut])
    handler.close_connection = handler.close_connection or cut > 0


def says(status: int, content: Any = b"{}", **options: Any) -> Act:
    """An act that answers everything alike."""
    return lambda handler, _: answer(handler, status, content, **options)


@contextmanager
def serving(server: EmbeddingServer | None = None) -> Iterator[EmbeddingServer]:
    """A server that listens, and is stopped behind."""
    running = server or EmbeddingServer()
    running.start()
    try:
        yield running
    finally:
        running.stop()
