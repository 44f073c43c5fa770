"""A client of ``serve`` over stdin and stdout, small enough to be killed and to come again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import checkout

from astrbot_plugin_scoped_memory.tests.support.dictionary import put_dictionary

_LONGEST_LINE: Final = 8 * 1024 * 1024


def environ_of(home: Path, language: str = "en") -> dict[str, str]:
    """What a program of the checkout is told of a home in which words alone are looked up."""
    return {
        "PYTHONPATH": str(checkout.ROOT),
        "SCOPED_MEMORY_HOME": str(home),
        "SCOPED_MEMORY_EMBEDDING": "lexical",
        "SCOPED_MEMORY_LANGUAGE": language,
    }


def request(number: object, method: str, params: Mapping[str, object]) -> str:
    """A line of the protocol."""
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(message) + "\n"


def log_request(number: object, content: str) -> str:
    """The line by which a client logs a decision."""
    arguments = {"content": content, "type": "decision"}
    return request(number, "tools/call", {"name": "memory_log", "arguments": arguments})


def hello(name: str) -> str:
    """The first line of a client."""
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": name, "version": "1"},
    }
    return request(0, "initialize", params)


INITIALIZED: Final = '{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'


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
        program: Sequence[str] = ("-m", "llm_memory", "serve"),
    ) -> None:
        """``folder`` is where the agent works."""
        self._command = [python, "-P", *program, *arguments]
        self._home = home
        self._folder = folder
        self._environ = {**os.environ, **environ_of(home), **(environ or {})}
        self._process: Process | None = None
        self._number = 0

    @property
    def process(self) -> Process:
        assert self._process is not None
        return self._process

    async def start(self) -> None:
        """Spawn the server and shake hands. Raises ServerGone."""
        if not (self._home / "index" / "dictionary.bin").exists():
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
        await self.send(hello("test-client"))
        await self._answer(0)
        await self.send(INITIALIZED)

    async def call(self, tool: str, **arguments: object) -> tuple[str, bool]:
        """Text, and whether the tool failed. Raises ServerGone."""
        result = await self.request("tools/call", {"name": tool, "arguments": arguments})
        return result["content"][0]["text"], bool(result.get("isError"))

    async def request(self, method: str, params: Mapping[str, object]) -> Any:
        """The result of a request. Raises ServerGone."""
        self._number += 1
        await self.send(request(self._number, method, params))
        return await self._answer(self._number)

    async def _answer(self, number: int) -> Any:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            answer = json.loads(line)  # nothing but the protocol stands there
            if answer.get("id") == number:
                return answer["result"]
        raise ServerGone

    async def send(self, *lines: str) -> None:
        """Write to its stdin. Raises ServerGone."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write("".join(lines).encode())
            await self.process.stdin.drain()
        except (ConnectionError, RuntimeError) as error:
            raise ServerGone from error

    def hang_up(self) -> None:
        """Close its stdin."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    async def kill(self) -> None:
        """End it if it lives, even if it was stopped by a signal."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
            await self._process.wait()

    async def stop(self) -> None:
        """Close its stdin and wait for its end."""
        if self._process is None:
            return
        self.hang_up()
        with contextlib.suppress(ProcessLookupError):
            try:
                async with asyncio.timeout(10):
                    await self._process.wait()
            except TimeoutError:
                self._process.kill()
                await self._process.wait()
