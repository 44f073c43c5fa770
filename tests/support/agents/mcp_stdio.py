"""A client of ``serve`` over stdin and stdout, small enough to be killed and to come again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import checkout

from astrbot_plugin_scoped_memory.tests.support.dictionary import put_dictionary

_LONGEST_LINE: Final = 8 * 1024 * 1024


class ServerGone(Exception):
    """The server process has ended."""


class StdioClient:
    """``start``, calls one after another, then ``stop``."""

    def __init__(
        self,
        home: Path,
        folder: Path,
        *arguments: str,
        python: str = sys.executable,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """``folder`` is where the agent works."""
        self._command = [python, "-P", "-m", "llm_memory", "serve", *arguments]
        self._home = home
        self._folder = folder
        self._environ = {
            **os.environ,
            "PYTHONPATH": str(checkout.ROOT),
            "SCOPED_MEMORY_HOME": str(home),
            "SCOPED_MEMORY_EMBEDDING": "lexical",
            "SCOPED_MEMORY_LANGUAGE": "en",
            **(environ or {}),
        }
        self._process: Process | None = None
        self._number = 0

    @property
    def process(self) -> Process:
        assert self._process is not None
        return self._process

    async def start(self) -> None:
        """Spawn the server and shake hands. Raises ServerGone."""
        if not self._home.exists():
            put_dictionary(self._home)
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            cwd=self._folder,
            env=self._environ,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            limit=_LONGEST_LINE,
        )
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test-client", "version": "1"},
        }
        await self.request("initialize", hello)
        await self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def call(self, tool: str, **arguments: object) -> tuple[str, bool]:
        """Text, and whether the tool failed. Raises ServerGone."""
        result = await self.request("tools/call", {"name": tool, "arguments": arguments})
        return result["content"][0]["text"], bool(result.get("isError"))

    async def request(self, method: str, params: Mapping[str, object]) -> Any:
        """The result of a request. Raises ServerGone."""
        self._number += 1
        number = self._number
        await self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            answer = json.loads(line)  # nothing but the protocol stands there
            if answer.get("id") == number:
                return answer["result"]
        raise ServerGone

    async def _send(self, message: Mapping[str, object]) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            await self.process.stdin.drain()
        except (ConnectionError, RuntimeError) as error:
            raise ServerGone from error

    async def stop(self) -> None:
        """Close its stdin and wait for its end."""
        if self._process is None:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()
        with contextlib.suppress(ProcessLookupError):
            try:
                async with asyncio.timeout(10):
                    await self._process.wait()
            except TimeoutError:
                self._process.kill()
                await self._process.wait()
