"""``backups/upgrade-<what>-<from>-<UTC time>/``: what an upgrade is about to change."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from ..files import make_folder, mode_in, sync_folder


@contextlib.contextmanager
def new_backup(backups: Path, what: str, found: int) -> Iterator[Path]:
    """A fresh folder, durable; one that is there already is never used again.

    Raises OSError. Half a backup is none: an error inside the block removes the folder.
    """
    make_folder(backups)
    name = f"upgrade-{what}-{found}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    folder, number = backups / name, 1
    while folder.exists():
        number += 1
        folder = backups / f"{name}-{number}"
    folder.mkdir(mode=mode_in(backups))
    try:
        sync_folder(backups)
        yield folder
    except Exception:
        drop_backup(folder)
        raise


def drop_backup(folder: Path) -> None:
    """For a backup of what was not changed after all: each start would make one more."""
    shutil.rmtree(folder, ignore_errors=True)
