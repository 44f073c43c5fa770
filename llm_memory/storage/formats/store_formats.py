"""What of a store carries a number: ``memory/.format.json`` and the SQLite files of ``state/``."""

from __future__ import annotations

import contextlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ...errors import VaultWriteFailed
from ..files import replace_durably
from ..loop_file import LOOP
from ..state_store import STATE
from .schema import Schema, read_stamp, refuse_newer

_MIGRATION_TABLES: Final = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS job (
    name TEXT PRIMARY KEY, kind TEXT NOT NULL, source TEXT NOT NULL, batch TEXT NOT NULL,
    state TEXT NOT NULL, begun TEXT NOT NULL, detail TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS outcome (
    job TEXT NOT NULL, record_id TEXT NOT NULL, fate TEXT NOT NULL, patched INTEGER,
    scope TEXT NOT NULL, memory_id TEXT NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (job, record_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS before (
    job TEXT NOT NULL, record_id TEXT NOT NULL, scope TEXT NOT NULL, metadata TEXT NOT NULL,
    PRIMARY KEY (job, record_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS added (
    batch TEXT NOT NULL, scope TEXT NOT NULL, memory_id TEXT NOT NULL, digest TEXT NOT NULL,
    record_id TEXT NOT NULL,
    PRIMARY KEY (batch, scope, memory_id)) WITHOUT ROWID;
"""

MIGRATION: Final = Schema(1, _MIGRATION_TABLES)

VAULT_FORMAT: Final = 1
STAMP: Final = ".format.json"
_DATABASES: Final = {"state.sqlite": STATE, "migration.sqlite": MIGRATION, "loop.sqlite": LOOP}


@dataclass(frozen=True, slots=True)
class StoreFormats:
    """``version`` is the plugin's."""

    vault: Path
    data: Path
    version: str = ""

    def check(self) -> None:
        """Touch nothing. Blocks. Raises FormatNewer."""
        stamp = self.vault / STAMP
        with contextlib.suppress(OSError):  # as the vault will say
            refuse_newer(stamp, read_stamp(stamp), VAULT_FORMAT, self.version)
        for name, schema in _DATABASES.items():
            schema.refuse_newer(self.data / "state" / name, self.version)

    def open(self) -> None:
        """Then number the vault where a person lost the stamp, and remove an index that says its
        format, as none does now: its words would outlive a purge. Blocks. Raises FormatNewer."""
        self.check()
        stamp, index = self.vault / STAMP, self.data / "index"
        content = {"format": VAULT_FORMAT, "written_by": self.version}
        # A vault that we cannot write to now can be read all the same. A stamp that cannot be read
        # now may be a later version's.
        with contextlib.suppress(OSError, VaultWriteFailed):
            if read_stamp(stamp) is None:
                replace_durably(stamp, (json.dumps(content) + "\n").encode())
        if (index / "manifest.json").exists():
            shutil.rmtree(index, ignore_errors=True)
