"""How much room a disk has."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

RESERVE: Final = 64 << 20
"""Bytes that stay free: the vault, AstrBot and the system want to write, too."""


def free_bytes(path: Path) -> int:
    """Bytes that we may still write on the disk of ``path``. Raises OSError."""
    return shutil.disk_usage(path).free
