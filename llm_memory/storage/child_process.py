"""A Python program of ours in a process of its own: it may crash, hang or be killed, we go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_KEPT_OUTPUT: Final = 16_384
_WINDOWS_FAULT: Final = 0xC0000000
"""Exit statuses from here on are exceptions that ended a process: 0xC000001D, 0xC0000005, …"""
_NO_WINDOW: Final = 0x0800_0000
"""Windows: CREATE_NO_WINDOW. A bot without a console would open one for its child."""
_ENDED_BY_OTHERS: Final = frozenset({"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"})


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """How a child ended. ``status`` is None if its time was up, negative after a signal."""

    status: int | None
    output: str = ""
    errors: str = ""

    @property
    def late(self) -> bool:
        """Killed by us at the deadline."""
        return self.status is None

    @property
    def death(self) -> str:
        """The signal that ended it, or what Windows calls one; empty if it ended by itself."""
        if self.status is None:
            return ""
        if self.status < 0:
            with suppress(ValueError):
                return signal.Signals(-self.status).name
            return f"signal {-self.status}"
        return f"{self.status:#x}" if self.status >= _WINDOWS_FAULT else ""

    @property
    def crashed(self) -> bool:
        """It died of what it did, and not because somebody, or a system short of memory, ended it.

        A Rust program that aborts ends by a signal, too.
        """
        return bool(self.death) and self.death not in _ENDED_BY_OTHERS


type RunChild = Callable[[Sequence[str], float], ChildEnd]
"""Command line and deadline in seconds. Raises OSError if nothing can be started."""


def python_program(program: Path, *arguments: str) -> tuple[str, ...]:
    """The command line of a program of ours; empty where this Python cannot start another."""
    # Frozen, it is the application and no interpreter; embedded in one, it may be unknown.
    if hasattr(sys, "frozen") or not sys.executable:
        return ()
    # -P: the program's folder stays off the path, where our modules could hide a library's.
    return (sys.executable, "-P", str(program), *arguments)


def run_child(command: Sequence[str], seconds: float) -> ChildEnd:
    """Run it to its end, or kill it at the deadline. Blocks.

    Its standard input is a pipe that closes when we are gone: a child that reads it can end then.

    Raises:
        OSError: it cannot be started.
    """
    return _watched(command, seconds, lambda _: None)


class Children:
    """Those of one owner, who may give them up before their time. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = threading.Event()

    def run(self, command: Sequence[str], seconds: float) -> ChildEnd:
        """Like ``run_child``; late at once if it is given up, or was before."""
        if self._closed.is_set():
            return ChildEnd(None)
        end = _watched(command, seconds, self._begun)
        with self._lock:
            self._running = {child for child in self._running if child.returncode is None}
        return ChildEnd(None, end.output, end.errors) if self._closed.is_set() else end

    def close(self) -> None:
        """End those that run; none is started from now on. Waits for nothing."""
        with self._lock:
            self._closed.set()
            for child in self._running:
                child.kill()

    def _begun(self, child: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._running.add(child)
            if self._closed.is_set():
                child.kill()


def _watched(
    command: Sequence[str], seconds: float, begun: Callable[[subprocess.Popen[bytes]], None]
) -> ChildEnd:
    """``run_child``, where ``begun`` is shown the child. Raises OSError."""
    ours, theirs = -1, -1
    try:
        theirs, ours = os.pipe()
        with subprocess.Popen(  # noqa: S603 - our own program
            [*command],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=child_environment(),
            creationflags=quiet_flags(),
        ) as child:
            status: int | None = None
            try:
                begun(child)
                output, errors = child.communicate(timeout=seconds)
                status = child.returncode
            except subprocess.TimeoutExpired as late:
                child.kill()
                if sys.platform == "win32":  # only there its readers hold what came
                    output, errors = child.communicate()
                else:  # a child of its own may keep the pipes open
                    child.wait()
                    output, errors = late.stdout or b"", late.stderr or b""
            except BaseException:
                child.kill()
                raise
    finally:
        for descriptor in (ours, theirs):
            if descriptor >= 0:
                os.close(descriptor)
    return ChildEnd(status, _text(output), _text(errors))


def child_environment() -> dict[str, str]:
    """The child sees what we see: a host may have put packages on the path at run time."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(import_path())}


def import_path() -> list[str]:
    """Where this Python finds packages, as texts: others may have put anything on the list."""
    entries: list[object] = [*sys.path]
    return [entry for entry in entries if isinstance(entry, str) and entry]


def quiet_flags() -> int:
    """How a child is made on Windows; nothing elsewhere."""
    return _NO_WINDOW if sys.platform == "win32" else 0


def _text(output: bytes) -> str:
    return output[-_KEPT_OUTPUT:].decode(errors="replace")
