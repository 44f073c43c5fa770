"""A client of an MCP server over stdin and stdout, without the SDK: only what is measured costs
time."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gauges import resident_megabytes

_PATIENCE_SECONDS = 60.0


class Client:
    """Starts a server; a context that ends it."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], folder: Path) -> None:
        self._began = time.perf_counter()
        self._process = subprocess.Popen(  # noqa: S603
            command,
            env=dict(environ),
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._number = 0
        self._buffer = b""
        self._ready = selectors.DefaultSelector()
        assert self._process.stdout is not None  # noqa: S101
        self._ready.register(self._process.stdout, selectors.EVENT_READ)

    @property
    def pid(self) -> int:
        return self._process.pid

    def initialize(self) -> float:
        """Seconds from the spawn until the server has said who it is."""
        info = {"name": "benchmark", "version": "0"}
        self._request(
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info},
        )
        took = time.perf_counter() - self._began
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return took

    def call(self, tool: str, **arguments: Any) -> tuple[float, bool]:
        """Milliseconds of a call, and whether it was answered without an error."""
        began = time.perf_counter()
        answer = self._request("tools/call", {"name": tool, "arguments": arguments})
        took = (time.perf_counter() - began) * 1000
        return took, not answer["result"].get("isError", False)

    def megabytes(self) -> float | None:
        """Its resident memory, and that of what it started."""
        return resident_megabytes(self.pid)

    def kill(self) -> None:
        """As ``kill -9`` does."""
        self._process.kill()
        self._process.wait()

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        while True:
            answer: dict[str, Any] = json.loads(self._line())
            if answer.get("id") == self._number:
                return answer

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None  # noqa: S101
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _line(self) -> bytes:
        assert self._process.stdout is not None  # noqa: S101
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while b"\n" not in self._buffer:
            if not self._ready.select(max(deadline - time.monotonic(), 0)):
                raise TimeoutError("the server does not answer")
            more = os.read(self._process.stdout.fileno(), 65536)
            if not more:
                raise ConnectionError("the server has ended")
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ready.close()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()
