"""A real Chroma server on loopback, and things that stand before one, or pretend to be one."""

from __future__ import annotations

import contextlib
import http.client
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import free_port

HOST = "127.0.0.1"


class ServerProcess:
    """``chroma run`` over a folder. Keeps its port through stops and starts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it listens, or will."""
        return f"http://{HOST}:{self.port}"

    def start(self) -> None:
        """Run it, and wait until it answers."""
        program = Path(sys.executable).with_name("chroma")
        where = ["--path", str(self.folder), "--host", HOST, "--port", str(self.port)]
        with (self.folder.parent / f"{self.folder.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                [program, "run", *where], stdout=log, stderr=log, cwd=self.folder.parent
            )
        limit = time.monotonic() + 60
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > limit:
                self.kill()
                raise RuntimeError("the Chroma server did not start")
            time.sleep(0.05)

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=5)
        try:
            connection.request("GET", "/api/v2/heartbeat")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def kill(self) -> None:
        """End it at once, as an outage would. Idempotent."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else 9)
            self._process.wait()
            self._process = None


@dataclass(frozen=True)
class Reply:
    """What a stand-in answers; an empty body is none."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    drip: float = 0.0
    """Seconds between two bytes; all at once if none."""

    def pieces(self) -> list[bytes]:
        """What is sent at a time."""
        return [bytes([byte]) for byte in self.body] if self.drip else [self.body]


type Door = Callable[[BaseHTTPRequestHandler], Reply | None]
"""Looks at a request: answers it, or lets it through to the server behind."""


@contextlib.contextmanager
def standing_before(port: int, door: Door) -> Iterator[str]:
    """The URL of a proxy before the server at ``port``; ``door`` decides on each request."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            reply = door(self) or _passed_on(port, self.command, self.path, body)
            with contextlib.suppress(OSError):  # whoever asked may have left
                self.send_response(reply.status)
                self.send_header("Content-Type", reply.content_type)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                for piece in reply.pieces():
                    self.wfile.write(piece)
                    time.sleep(reply.drip)

        do_GET = do_POST = do_PUT = do_DELETE = _handle

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer((HOST, 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _passed_on(port: int, method: str, path: str, body: bytes) -> Reply:
    connection = http.client.HTTPConnection(HOST, port, timeout=30)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        kind = answer.getheader("Content-Type") or "text/plain"
        return Reply(answer.status, answer.read(), kind)
    except OSError:
        return Reply(502, b"<h1>Bad Gateway</h1>", "text/html")
    finally:
        connection.close()


@contextlib.contextmanager
def pretending(reply: Reply) -> Iterator[str]:
    """The URL of something that answers everything alike."""
    with standing_before(0, lambda _: reply) as url:
        yield url


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A Chroma server that runs through all tests: a test that stops it starts it again."""
    process = ServerProcess(tmp_path_factory.mktemp("server") / "data")
    process.start()
    yield process
    process.kill()
