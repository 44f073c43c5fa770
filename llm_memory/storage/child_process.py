"""A Python program of ours in a process of its own: it may crash, hang or be killed, we go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_WINDOWS_FAULT: Final = 0xC0000000
"""Exit statuses from here on are exceptions that ended a process: 0xC000001D, 0xC0000005, …"""
FLAGS: Final = 0x0800_0000 if sys.platform == "win32" else 0
"""How a child is made. CREATE_NO_WINDOW: a bot without a console would open one for its child."""


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """How a child ended. ``status`` is None if its time was up, negative after a signal."""

    status: int | None
    output: str = ""
    errors: str = ""

    @property
    def death(self) -> str:
        """The signal that ended it, or what Windows calls one; empty if it ended by itself."""
        status = self.status or 0
        if status >= _WINDOWS_FAULT:
            return f"{status:#x}"
        names = {one.value: one.name for one in signal.Signals}
        return names.get(-status, f"signal {-status}") if status < 0 else ""


type RunChild = Callable[[Sequence[str], float], ChildEnd]
"""Command line and deadline in seconds. Raises OSError if nothing can be started."""


def python_program(program: Path, *arguments: str) -> tuple[str, ...]:
    """The command line of a program of ours; empty where this Python cannot start another."""
    # Frozen, it is the application and no interpreter; embedded in one, it may be unknown.
    if hasattr(sys, "frozen") or not sys.executable:
        return ()
    # -P: the program's folder stays off the path, where our modules could hide a library's.
    return (sys.executable, "-P", str(program), *arguments)


class Child:
    """A program that its owner may give up before its time. For any thread.

    Its standard input is a pipe that closes when it is given up, or when we are gone: a program of
    ours reads it, and ends then.
    """

    def __init__(self) -> None:
        theirs, ours = os.pipe()
        self._theirs, self._ours = os.fdopen(theirs, "rb"), os.fdopen(ours, "wb")

    def run(self, command: Sequence[str], seconds: float) -> ChildEnd:
        """Run it to its end, or kill it at the deadline. Blocks. Raises OSError if it cannot be
        started."""
        try:
            done = subprocess.run(  # noqa: S603 - our own program
                [*command],
                stdin=self._theirs,
                capture_output=True,
                timeout=seconds,
                env=child_environment(),
                creationflags=FLAGS,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            return ChildEnd(None, _text(late.stdout), _text(late.stderr))
        finally:
            self._theirs.close()
            self.close()
        return ChildEnd(done.returncode, _text(done.stdout), _text(done.stderr))

    def close(self) -> None:
        """Give it up. Waits for nothing. Idempotent."""
        self._ours.close()


def child_environment() -> dict[str, str]:
    """The child sees what we see: a host may have put packages on the path at run time."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(import_path())}


def import_path() -> list[str]:
    """Where this Python finds packages, as texts: others may have put anything on the list."""
    entries: list[object] = [*sys.path]
    return [entry for entry in entries if isinstance(entry, str) and entry]


def _text(output: bytes | None) -> str:
    return (output or b"").decode(errors="replace")
