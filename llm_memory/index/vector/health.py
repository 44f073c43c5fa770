"""What is known of an index folder: a small record beside it, and the look of its files.

The record is a note, not the truth: without it, or with a damaged one, nothing is known, and the
folder is looked into before it is opened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from ...errors import VaultWriteFailed
from ...storage.directory_lock import LOCK_NAME
from ...storage.files import replace_durably

FORMAT: Final = 1

type Seal = Mapping[str, tuple[int, int]]
"""Relative name of each file to its size in bytes and its time of change in nanoseconds."""


@dataclass(frozen=True, slots=True)
class Health:
    """Of one index folder.

    Attributes:
        seal: The files as they were when the folder was last known to be sound; None while it is
            being written, and after a fault.
        version: Chroma's, when the seal was set. A database may not be opened by an older one.
        openings: Openings in a row that came to no end: the process died in them.
        unclosed: Openings in a row that no close followed, since a probe found the folder sound.
        removed: Records deleted since the folder was begun.
    """

    seal: Seal | None = None
    version: str = ""
    openings: int = 0
    unclosed: int = 0
    removed: int = 0

    def unsealed(self) -> Health:
        """Nothing is known of the files."""
        return replace(self, seal=None, version="")


class HealthFile:
    """Where the record lies. Reads and writes at once; blocks."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Health:
        """The record; a blank one if there is none that makes sense."""
        try:
            return _parsed(json.loads(self._path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return Health()

    def write(self, health: Health) -> bool:
        """Keep it. False if it could not be written, and the former one is gone, too.

        A seal that stayed behind would be no lie: the files that are written look different.
        """
        content = {"format": FORMAT, **asdict(health)}
        try:
            replace_durably(self._path, json.dumps(content, ensure_ascii=False).encode())
        except VaultWriteFailed:
            try:
                self._path.unlink(missing_ok=True)
            except OSError:
                return False
            return False
        return True


def _parsed(content: dict[str, object]) -> Health:
    if content["format"] != FORMAT:
        raise ValueError("another format")
    numbers = {name: content[name] for name in ("openings", "unclosed", "removed")}
    if not all(type(number) is int and number >= 0 for number in numbers.values()):
        raise ValueError("no counts")
    health = Health(version=str(content["version"]), **numbers)  # type: ignore[arg-type]
    seal = content["seal"]
    if seal is None:
        return health
    if not isinstance(seal, dict):
        raise TypeError("no seal")
    return replace(
        health, seal={name: (int(size), int(time)) for name, (size, time) in seal.items()}
    )


def seal_of(folder: Path) -> Seal:
    """How the files look now, the owner's lock aside. Raises OSError."""
    found: dict[str, tuple[int, int]] = {}
    for parent, _, names in os.walk(folder, onerror=_raise):
        for name in names:
            path = Path(parent, name)
            relative = path.relative_to(folder).as_posix()
            if relative != LOCK_NAME:
                about = path.stat()
                found[relative] = (about.st_size, about.st_mtime_ns)
    return found


def _raise(error: OSError) -> None:
    raise error
