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
from .schema import Schema, read_stamp, refuse_newer, tables

MIGRATION: Final = Schema(1, tables("migration"))

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
