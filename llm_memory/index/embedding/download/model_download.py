"""A model download behind the bot: a child process with a deadline, and how far it is."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ....storage.child_process import child_environment, python_program, quiet_flags
from .hub_fetch import TOTAL, unfinished

_POLL_SECONDS = 1.0
_KEPT_OUTPUT = 4096


@dataclass(frozen=True, slots=True)
class DownloadProgress:
    """Of a download that is under way. ``total`` is 0 until it is known."""

    megabytes: float
    total: float
    seconds: float
    deadline_seconds: float


def fetch_command(name: str, folder: Path, mirror: str = "") -> tuple[str, ...]:
    """The child process that downloads a model; empty where this Python cannot start another.

    Args:
        name: On the hub.
        folder: Where the model will lie.
        mirror: The hub's address; empty leaves it to the child's environment, which is ours.
    """
    options = {"name": name, "folder": str(folder), "mirror": mirror}
    return python_program(Path(__file__).with_name("fetch_model.py"), json.dumps(options))


class ModelDownload:
    """One attempt to run ``command``. The child is killed at the deadline and by ``close``.

    Args:
        command: Program and arguments; exit status 0 is success.
        seconds: The deadline.
        folder: Where the model will lie; what grows meanwhile lies beside it.
    """

    def __init__(self, command: Sequence[str], seconds: float, folder: Path) -> None:
        self._command = command
        self._seconds = seconds
        self._part = unfinished(folder)
        self._started = time.monotonic()
        self._megabytes, self._total = 0.0, 0.0
        self.ended = 0.0
        """When it did, of ``time.monotonic``."""
        self._task = asyncio.create_task(self._run(), name="model download")

    @property
    def done(self) -> bool:
        return self._task.done()

    @property
    def progress(self) -> DownloadProgress:
        elapsed = time.monotonic() - self._started
        return DownloadProgress(self._megabytes, self._total, elapsed, self._seconds)

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
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,  # it ends when this is closed
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env=child_environment(),
                creationflags=quiet_flags(),
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
            self.ended = time.monotonic()

    async def _watch(self, process: asyncio.subprocess.Process) -> str:
        output = asyncio.create_task(_tail(process.stderr))
        try:
            while not output.done():
                await asyncio.wait({output}, timeout=_POLL_SECONDS)
                self._megabytes, self._total = await asyncio.to_thread(_size, self._part)
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


def _size(folder: Path) -> tuple[float, float]:
    """Megabytes that are there, and that there will be."""
    there = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # renamed while we look
            there += path.stat().st_size if path.is_file() else 0
    try:
        total = int((folder / TOTAL).read_text())
    except (OSError, ValueError):
        total = 0
    return there / 1e6, total / 1e6
