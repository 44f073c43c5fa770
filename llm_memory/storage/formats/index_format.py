"""The format of the index: ``index/manifest.json``. A cache is not upgraded but built anew."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from ...log import logger
from ..files import move
from .numbers import read_stamp

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"


class IndexFormat:
    """Implements the ``StoredFormat`` port."""

    def __init__(self, folder: Path, *, known: int = FORMAT) -> None:
        self._folder = folder
        self._known = known

    def check(self) -> None:
        """Nothing is refused because of a cache."""

    def upgrade(self) -> None:
        """Set a newer index aside, whole: its owner may go back to the version that made it, and
        vectors cost time and sometimes money. One is kept of each format, so that going back and
        forth fills no disk. Where it cannot be moved, the manifest stands in the way of its use.
        """
        stamp = read_stamp(self._folder / MANIFEST)
        if stamp is None or stamp.format <= self._known:
            return
        aside = self._folder.with_name(f"{self._folder.name}.format-{stamp.format}")
        try:
            if aside.exists():
                shutil.rmtree(aside)
            move(self._folder, aside)
        except OSError as error:
            logger.warning("index_newer_kept", format=stamp.format, error=error)
        else:
            logger.warning("index_newer", format=stamp.format, name=aside.name)
