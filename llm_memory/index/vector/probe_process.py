"""Having an index folder looked into by a child process, and reading its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from ...log import logger
from ...models.scope import QUARANTINE_NAME, SCOPE_FIELD
from ...storage.child_process import ChildEnd, RunChild, import_path, python_program, run_child
from .names import PREFIX

_LEAST_SECONDS: Final = 60.0
_BYTES_A_SECOND: Final = 2 << 20
"""What the slowest disk and processor that we know of look through."""


class Verdict(StrEnum):
    """On an index folder. GARBAGE, PARTIAL, CRASHED and HANGS are reasons to give it up."""

    SOUND = "sound"
    GARBAGE = "garbage"
    PARTIAL = "partial"
    CRASHED = "crashed"
    HANGS = "hangs"
    BUSY = "busy"
    UNREADABLE = "unreadable"
    FULL = "full"
    MISSING = "missing"
    NATIVE = "native"
    UNKNOWN = "unknown"
    """No child could be started, or another program ended it."""

    @property
    def broken(self) -> bool:
        """The folder is of no use any more."""
        return self in (Verdict.GARBAGE, Verdict.PARTIAL, Verdict.CRASHED, Verdict.HANGS)


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict, with words for a log, and the folders that no collection knows."""

    verdict: Verdict
    detail: str = ""
    orphans: tuple[str, ...] = ()


class ProbeProcess:
    """Starts ``probe.py``. The folder must not be open meanwhile."""

    def __init__(self, run: RunChild = run_child) -> None:
        self._run = run

    def look(self, folder: Path, settings: Mapping[str, object], size: int) -> Finding:
        """Look into a folder of ``size`` bytes. Blocks, for two or three seconds where all is well.

        ``settings`` are those that Chroma will be opened with.
        """
        seconds = _LEAST_SECONDS + size / _BYTES_A_SECOND
        options = {
            "folder": str(folder),
            "settings": dict(settings),
            "prefix": PREFIX,
            "where": {SCOPE_FIELD: {"$ne": QUARANTINE_NAME}},
            "seconds": seconds + 5,
            "path": import_path(),
        }
        command = python_program(Path(__file__).with_name("probe.py"), json.dumps(options))
        if not command:
            return Finding(Verdict.UNKNOWN, "this application cannot start a Python process")
        try:
            end = self._run(command, seconds)
        except OSError as error:
            return Finding(Verdict.UNKNOWN, f"no process: {error}")
        finding = _read(end)
        logger.debug("检查向量索引：{} {}", finding.verdict, finding.detail)
        return finding


def _read(end: ChildEnd) -> Finding:
    if end.late:
        return Finding(Verdict.HANGS, "no answer in time")
    if end.death == "SIGILL":
        return Finding(Verdict.NATIVE, end.death)
    if end.crashed:
        return Finding(Verdict.CRASHED, end.death)
    if end.death:
        return Finding(Verdict.UNKNOWN, f"the probe was ended by {end.death}")
    for line in reversed(end.output.splitlines()):
        if (finding := _parsed(line)) is not None:
            return finding
    return Finding(Verdict.UNKNOWN, f"exit status {end.status}: {_last_line(end.errors)}")


def _parsed(line: str) -> Finding | None:
    try:
        content = json.loads(line)
        return Finding(
            Verdict(content["verdict"]),
            str(content["detail"]),
            tuple(str(name) for name in content["orphans"]),
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _last_line(text: str) -> str:
    return next((line.strip()[:200] for line in reversed(text.splitlines()) if line.strip()), "")
