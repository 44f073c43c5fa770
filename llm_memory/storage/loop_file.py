"""The file that the memory loop's stores share."""

from __future__ import annotations

from pathlib import Path

from .formats.loop_schema import LOOP
from .sqlite_file import SqliteFile


class SqliteLoopFile(SqliteFile):
    """The one connection to it. Unread turns are lost with a broken file."""

    def __init__(self, path: Path, *, version: str = "") -> None:
        """``version`` is the plugin's."""
        super().__init__(path, LOOP, version=version)


class ForgetfulLoopFile(SqliteLoopFile):
    """Keeps nothing beyond ``close``, and touches no file: for an engine without conversations."""

    def open(self) -> bool:
        self.open_in_memory(empty=True)
        return True
