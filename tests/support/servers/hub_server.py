"""A model hub on this machine: what huggingface.co answers to a listing and to a download."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = 4096
"""Bytes from which on a file is stored apart, and asked for at another address."""


@dataclass
class HubServer:
    """Serves the files of ``folder`` as the model ``name``.

    Attributes:
        cut: Of a large file, so many bytes an answer, until the connection breaks; 0 for all.
        cuts: How often that happens.
        ranges: Where large files were asked for from.
        endless: Files behind which other bytes follow, as long as anybody listens.
        tokens: What was shown with each request, by path.
    """

    folder: Path
    name: str = "owner/tiny"
    cut: int = 0
    cuts: int = 0
    endless: set[str] = field(default_factory=set)
    ranges: list[int] = field(default_factory=list)
    tokens: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    url: str = ""

    def listing(self) -> dict[str, Any]:
        """Of ``/api/models/NAME``."""
        files = [path for path in sorted(self.folder.rglob("*")) if path.is_file()]
        return {"id": self.name, "sha": COMMIT, "siblings": [self._entry(path) for path in files]}

    def _entry(self, path: Path) -> dict[str, Any]:
        content = path.read_bytes()
        git = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
        entry = {
            "rfilename": path.relative_to(self.folder).as_posix(),
            "size": len(content),
            "blobId": git.hexdigest(),
        }
        if len(content) < LARGE:
            return entry
        sha256 = hashlib.sha256(content).hexdigest()
        # The blob is a pointer then, and its id is none of the content's.
        return entry | {
            "blobId": "f" * 40,
            "lfs": {"sha256": sha256, "size": len(content), "pointerSize": 130},
        }


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append(path)
        self.hub.tokens[path] = self.headers.get("Authorization", "")
        resolve = f"/{self.hub.name}/resolve/{COMMIT}/"
        api = f"/api/models/{self.hub.name}"
        if path in (api, f"{api}/revision/{COMMIT}"):
            self._answer(200, json.dumps(self.hub.listing()).encode(), name="listing")
        elif path.startswith(resolve):
            self._file(path.removeprefix(resolve))
        elif path.startswith("/cdn/"):
            self._large(path.removeprefix("/cdn/"))
        else:
            self._answer(404, b"{}", **{"X-Error-Code": "RepoNotFound"})

    def _file(self, name: str) -> None:
        content = (self.hub.folder / name).read_bytes()
        tag = f'"{hashlib.sha1(content, usedforsecurity=False).hexdigest()}"'
        about = {"X-Repo-Commit": COMMIT, "ETag": tag, "X-Linked-ETag": tag}
        about["X-Linked-Size"] = str(len(content))
        if len(content) < LARGE:
            self._answer(200, content, name=name, **about)
            return
        # A redirect to another host, or so it looks: no token may follow.
        location = f"{self.hub.url.replace('127.0.0.1', 'localhost')}/cdn/{name}"
        self._answer(302, b"", Location=location, **about)

    def _large(self, name: str) -> None:
        content = (self.hub.folder / name).read_bytes()
        asked = self.headers.get("Range", "")
        start = int(asked.removeprefix("bytes=").partition("-")[0]) if asked else 0
        self.hub.ranges.append(start)
        whole = content[start:]
        if self.hub.cuts:
            self.hub.cuts -= 1
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(whole)))
            self.end_headers()
            self.wfile.write(whole[: self.hub.cut])
            self.close_connection = True
        else:
            self._answer(206 if start else 200, whole, name=name)

    def _answer(self, status: int, body: bytes, name: str = "", **headers: str) -> None:
        endless = name in self.hub.endless
        self.send_response(status)
        for header, value in headers.items():
            self.send_header(header, value)
        if not endless:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(body)
        self.close_connection = endless
        with suppress(OSError):  # nobody listens any more
            while endless:
                self.wfile.write(b"x" * (1 << 16))

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def running(hub: HubServer) -> Iterator[HubServer]:
    """Serving at ``hub.url``."""

    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
