"""The format of ``state.sqlite``, and of other files like it: ``meta.format``."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from ...errors import UpgradeFailed
from ...log import logger
from ..files import sync_folder
from ..sqlite import open_file
from .backups import drop_backup, new_backup
from .numbers import FormatStamp, refuse_newer
from .peek import peek
from .state_schema import FORMAT, STEPS, Step, write_stamp

_WAIT_SECONDS = 5.0


class StateFormat:
    """Implements the ``StoredFormat`` port. ``version`` is the plugin's."""

    def __init__(
        self,
        path: Path,
        backups: Path,
        *,
        version: str = "",
        known: int = FORMAT,
        steps: Mapping[int, Step] = STEPS,
    ) -> None:
        self._path = path
        self._backups = backups
        self._version = version
        self._known = known
        self._steps = steps

    def check(self) -> None:
        refuse_newer(self._path, self._stamp(), self._known, self._version)

    def upgrade(self) -> None:
        """Each step in one transaction with its number: a crash between two goes on from there."""
        stamp = self._stamp()
        if stamp is None or stamp.format >= self._known:
            return
        try:
            with contextlib.closing(
                sqlite3.connect(self._path, timeout=_WAIT_SECONDS, isolation_level=None)
            ) as connection:
                self._upgrade(connection, stamp.format)
        except Exception as error:  # a step may raise anything, and then we must not go on
            raise UpgradeFailed(str(self._path), str(error) or type(error).__name__) from error
        logger.info("state_upgraded", old=stamp.format, new=self._known)

    def _upgrade(self, connection: sqlite3.Connection, found: int) -> None:
        connection.execute("PRAGMA synchronous=FULL")
        backup = self._back_up(connection, found)
        for number in range(found, self._known):
            try:
                connection.execute("BEGIN IMMEDIATE")
                self._steps[number](connection)
                write_stamp(connection, number + 1, self._version)
                connection.execute("COMMIT")
            except Exception:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if number == found:
                    drop_backup(backup)
                raise

    def _back_up(self, connection: sqlite3.Connection, found: int) -> Path:
        with new_backup(self._backups, self._path.stem, found) as folder:
            target = folder / self._path.name
            with contextlib.closing(open_file(target, wait_seconds=_WAIT_SECONDS)) as copy:
                connection.backup(copy)
            with target.open("rb+") as file:
                os.fsync(file.fileno())
            sync_folder(folder)
        return folder

    def _stamp(self) -> FormatStamp | None:
        """None for a file that is missing or broken: opening the state deals with those."""
        if not self._path.is_file():
            return None
        try:
            with peek(self._path) as connection:
                found = dict(connection.execute("SELECT name, value FROM meta").fetchall())
            number = int(found.get("format", ""))
        except (sqlite3.Error, OSError, ValueError, TypeError):
            return None
        return FormatStamp(number, str(found.get("written_by", ""))) if number > 0 else None
