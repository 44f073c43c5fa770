"""Does a native library run on this machine? Tried in a child process before ours imports it.

A library that was built for another processor ends the process with SIGILL at its import, and a bot
that imports it would die at every start. The answer is kept until library, Python or processor
change.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from ...errors import VaultWriteFailed
from ...log import logger
from ...storage.child_process import ChildEnd, RunChild, python_program, run_child
from ...storage.files import replace_durably

FORMAT: Final = 1
LATE: Final = "no answer in time"
_TRIAL: Final = Path(__file__).with_name("native_trial.py")
_SECONDS: Final = 180.0
"""Packages of gigabytes, read from a slow disk for the first time."""
LACKS_INSTRUCTIONS: Final = ("SIGILL", "0xc000001d")
"""How it ends where it was built for another processor."""
_FOR_GOOD: Final = ("", *LACKS_INSTRUCTIONS)
"""It runs, or never will: neither changes by itself."""
_CPUINFO: Final = Path("/proc/cpuinfo")
_CPU_LINES: Final = ("flags", "Features", "model name", "CPU part")


class NativeProbe:
    """Of one package. Once it has been imported in our process, there is nothing to ask."""

    def __init__(
        self,
        package: str,
        trial: Path,
        record: Path,
        *,
        distribution: str = "",
        run: RunChild = run_child,
        key: Callable[[str], str] | None = None,
    ) -> None:
        """``trial`` imports the package and uses it a little; how it ends is the answer.

        Args:
            package: What is imported.
            trial: A Python file with a function ``main``.
            record: Where the answer is kept.
            distribution: What is installed, if it is not called like the package.
            run: Starts the child.
            key: Says what the answer for a distribution depends on.
        """
        self._package = package
        self._distribution = distribution or package
        self._trial = trial
        self._record = record
        self._run = run
        self._key = key or machine_key

    def refusal(self) -> str:
        """Why the package must not be imported here; empty if it may be. Blocks.

        An error that Python reports is none: the import will report it again, and nothing dies.
        """
        if self._package in sys.modules or importlib.util.find_spec(self._package) is None:
            return ""
        key = self._key(self._distribution)
        known = self._known(key)
        if known is not None:
            return known
        command = trial_command(self._trial)
        if not command:
            return ""
        try:
            end = self._ended(command)
        except OSError:
            return ""
        if end.late:
            return LATE
        if end.crashed:
            logger.warning("package_crashes", name=self._package, death=end.death)
        if end.death in _FOR_GOOD:
            self._keep(key, end.death)
        return end.death

    def _ended(self, command: Sequence[str]) -> ChildEnd:
        end = self._run(command, _SECONDS)
        if end.crashed and end.death not in _FOR_GOOD:
            return self._run(command, _SECONDS)  # it may have been short of something
        return end

    def _known(self, key: str) -> str | None:
        try:
            content = json.loads(self._record.read_text(encoding="utf-8"))
            if content["format"] == FORMAT and content["key"] == key:
                return str(content["death"])
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None
        return None

    def _keep(self, key: str, death: str) -> None:
        content = {"format": FORMAT, "package": self._package, "key": key, "death": death}
        try:
            replace_durably(self._record, json.dumps(content).encode())
        except VaultWriteFailed as error:
            logger.debug("the outcome of the trial was not kept: {}", error)


def trial_command(trial: Path) -> tuple[str, ...]:
    """The command line that runs a trial; empty where this Python cannot start another."""
    return python_program(_TRIAL, str(trial))


def machine_key(distribution: str) -> str:
    """What decides whether a native library runs: its version, Python's, and the processor."""
    try:
        version = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        version = ""
    processor = hashlib.sha256("\n".join(_cpu()).encode()).hexdigest()[:16]
    parts = (distribution, version, platform.python_version(), sys.platform, platform.machine())
    return " ".join((*parts, processor))


def _cpu() -> list[str]:
    """What Linux says of the first processor; elsewhere what little Python knows."""
    try:
        text = _CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return [platform.processor()]
    first = text.strip().partition("\n\n")[0]
    return [line for line in first.splitlines() if line.startswith(_CPU_LINES)]
