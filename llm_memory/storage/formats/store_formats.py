"""What of a store carries a number: ``memory/.format.json``, ``index/manifest.json``, and the
SQLite files of ``state/``."""

from __future__ import annotations

import contextlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ...errors import VaultWriteFailed
from ...log import logger
from ..files import replace_durably
from .loop_schema import LOOP
from .migration_schema import MIGRATION
from .numbers import read_stamp, refuse_newer
from .state_schema import STATE

VAULT_FORMAT: Final = 1
STAMP: Final = ".format.json"
INDEX_FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
_DATABASES: Final = {"state.sqlite": STATE, "migration.sqlite": MIGRATION, "loop.sqlite": LOOP}


@dataclass(frozen=True, slots=True)
class StoreFormats:
    """``version`` is the plugin's."""

    vault: Path
    data: Path
    version: str = ""

    def check(self) -> None:
        """Touch nothing. Blocks. Raises FormatNewer."""
        refuse_newer(self.vault / STAMP, read_stamp(self.vault / STAMP), VAULT_FORMAT, self.version)
        for name, schema in _DATABASES.items():
            schema.refuse_newer(self.data / "state" / name, self.version)

    def open(self) -> None:
        """Then number the vault where a person lost the stamp, and remove the index of a later
        version: it is a cache. Blocks. Raises FormatNewer."""
        self.check()
        if read_stamp(self.vault / STAMP) is None:
            content = {"format": VAULT_FORMAT, "written_by": self.version}
            # A vault that we cannot write to now can be read all the same.
            with contextlib.suppress(VaultWriteFailed):
                replace_durably(self.vault / STAMP, (json.dumps(content) + "\n").encode())
        stamp = read_stamp(self.data / "index" / MANIFEST)
        if stamp and stamp.format > INDEX_FORMAT:
            logger.warning("index_newer", format=stamp.format)
            shutil.rmtree(self.data / "index", ignore_errors=True)
