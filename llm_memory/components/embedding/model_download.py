"""A model download behind the bot: a child process with a deadline, and how far it is."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_POLL_SECONDS = 1.0
_KEPT_OUTPUT = 4096


@dataclass(frozen=True, slots=True)
class DownloadProgress:
    """Of a download that is under way."""

    megabytes: float
    seconds: float
    deadline_seconds: float


def fetch_command(name: str, cache_folder: Path | None) -> tuple[str, ...]:
    """The child process that downloads a model; empty where this Python cannot start another."""
    if hasattr(sys, "frozen"):  # sys.executable is the application then, not an interpreter
        return ()
    program = Path(__file__).with_name("fetch_model.py")
    # -P: the program's folder stays off the path, where our modules could hide a library's.
    return (sys.executable, "-P", str(program), name, str(cache_folder or ""))


class ModelDownload:
    """One attempt to run ``command``. The child is killed at the deadline and by ``close``.

    Args:
        command: Program and arguments; exit status 0 is success.
        seconds: The deadline.
        watched: The folder that grows meanwhile.
    """

    def __init__(self, command: Sequence[str], seconds: float, watched: Path | None) -> None:
        self._command = command
        self._seconds = seconds
        self._watched = watched
        self._started = time.monotonic()
        self._megabytes = 0.0
        self._task = asyncio.create_task(self._run(), name="model download")

    @property
    def done(self) -> bool:
        return self._task.done()

    @property
    def progress(self) -> DownloadProgress:
        elapsed = time.monotonic() - self._started
        return DownloadProgress(self._megabytes, elapsed, self._seconds)

    @property
    def failure(self) -> str:
        """Why a finished download failed; empty after a success."""
        if self._task.cancelled():
            return "closed"
        error = self._task.exception()
        return self._task.result() if error is None else type(error).__name__

    async def close(self) -> None:
        """Kill it and wait until it is gone."""
        self._task.cancel()
        await asyncio.wait({self._task})

    async def _run(self) -> str:
        if not self._command:
            return "this application cannot start a Python process"
        # The child sees what we see: a host may have put packages on the path at run time.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env=environment,
            )
        except (OSError, NotImplementedError) as error:
            return f"no process: {type(error).__name__}"
        try:
            async with asyncio.timeout(self._seconds):
                return await self._watch(process)
        except TimeoutError:
            return f"not done after {self._seconds:g} s"
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _watch(self, process: asyncio.subprocess.Process) -> str:
        output = asyncio.create_task(_tail(process.stderr))
        try:
            while not output.done():
                await asyncio.wait({output}, timeout=_POLL_SECONDS)
                self._megabytes = await asyncio.to_thread(_megabytes, self._watched)
            status = await process.wait()
        finally:
            output.cancel()
        return "" if status == 0 else _last_line(output.result()) or f"exit status {status}"


async def _tail(stream: asyncio.StreamReader | None) -> bytes:
    """The end of what the child says; read on, or it would stop at a full pipe."""
    kept = b""
    while stream is not None and (piece := await stream.read(_KEPT_OUTPUT)):
        kept = (kept + piece)[-_KEPT_OUTPUT:]
    return kept


def _last_line(output: bytes) -> str:
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def _megabytes(folder: Path | None) -> float:
    if folder is None:
        return 0.0
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # renamed while we look
            if path.is_file() and not path.is_symlink():
                total += path.stat().st_size
    return total / 1e6
