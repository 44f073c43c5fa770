"""Who holds a role: the process that has the role's lock file, until it ends."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from ..log import logger
from ..models.data_models import Refused
from ..models.roles import RoleLease
from ..models.scope import role_folder
from ..storage.directory_lock import HeldFile, Words, holder

LONGEST_NAME = 40
"""Characters of a program's name that others read."""


def lease_file(folder: Path, role: str) -> Path:
    """Returns the lock file of a role, by the name of its folder."""
    return folder / f"{role}.lock"


def not_held(path: Path) -> Refused:
    """Tells who holds the role with this lock file. Blocks."""
    words: Words = {}
    with suppress(OSError, ValueError):  # no locks, or no name of a file: nobody can hold it
        words = holder(path) or {}
    name = words.get("client") or f"process {words.get('pid', '?')}"
    return Refused("role_held", detail=f"{name} ({words.get('since', '?')})")


class RoleSeat:
    """A role that this process takes as soon as nobody else holds it, and keeps to its end."""

    def __init__(self, leases: Path, role: str, clock: Callable[[], datetime]) -> None:
        """``leases`` is the folder of the lock files."""
        self.role = role
        self._path = lease_file(leases, role_folder(role))
        self._file = HeldFile(self._path)
        self._clock = clock

    def take(self, client: str = "") -> RoleLease | Refused:
        """Take the role, or tell who holds it. ``client`` is the program that will be named to
        others. Blocks."""
        who: Words = {"client": client[:LONGEST_NAME], "pid": os.getpid()}
        try:
            if self._file.take({**who, "since": self._clock().isoformat(timespec="seconds")}):
                return RoleLease(role_folder(self.role), self._file.token)
        except OSError as error:  # a disk that is full, or knows no locks
            logger.warning("role_not_taken", role=self.role, error=error)
        return not_held(self._path)

    def release(self) -> None:
        """Give the role back. Idempotent. Blocks."""
        self._file.release()
