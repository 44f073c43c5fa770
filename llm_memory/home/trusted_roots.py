"""The projects whose own memories their user has agreed to read: a checkout may be a stranger's."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from ..errors import HomeError, VaultWriteFailed
from ..storage.files import replace_durably

FILE_NAME: Final = "trusted-roots.json"


def is_trusted(home: Path, root: Path) -> bool:
    """Returns whether ``trust_root`` was called for this folder. Blocks."""
    return _name(root) in _known(home)


def trust_root(home: Path, root: Path) -> None:
    """Note that the user wants this folder's memories read. Blocks. Raises HomeError."""
    known = _known(home)
    if _name(root) in known:
        return
    text = json.dumps(sorted({*known, _name(root)}), ensure_ascii=False, indent=2)
    try:
        replace_durably(home / FILE_NAME, f"{text}\n".encode())
    except VaultWriteFailed as error:
        raise HomeError(f"写不了 / cannot be written: {home / FILE_NAME} ({error})") from error


def _known(home: Path) -> frozenset[str]:
    try:
        raw = json.loads((home / FILE_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return frozenset()
    return (
        frozenset(one for one in raw if isinstance(one, str))
        if isinstance(raw, list)
        else frozenset()
    )


def _name(root: Path) -> str:
    return os.path.normcase(root.resolve())
