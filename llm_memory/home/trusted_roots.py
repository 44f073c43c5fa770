"""The projects whose own memories their user has agreed to read: a checkout may be a stranger's."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Final

from ..errors import HomeError, VaultWriteFailed
from ..storage.files import replace_durably
from ..texts import at

FILE_NAME: Final = "trusted-roots.json"


def is_trusted(home: Path, root: Path, workflow: Path | None = None) -> bool:
    """Returns whether ``trust_root`` was called for this. Blocks."""
    return _name(root, workflow) in _known(home)


def trust_root(home: Path, root: Path, workflow: Path | None = None) -> None:
    """Note that the user wants the memories of a project's folder read, or of the memory root that
    its ``workflow`` names: the two are agreed to together. Blocks. Raises HomeError."""
    known, name = _known(home), _name(root, workflow)
    if name in known:
        return
    text = json.dumps(sorted({*known, name}), ensure_ascii=False, indent=2)
    try:
        replace_durably(home / FILE_NAME, f"{text}\n".encode())
    except VaultWriteFailed as error:
        raise HomeError(at(home / FILE_NAME, "path.unwritable", why=error)) from error


def _known(home: Path) -> frozenset[str]:
    raw = None
    with contextlib.suppress(OSError, ValueError, RecursionError):
        raw = json.loads((home / FILE_NAME).read_text(encoding="utf-8"))
    listed = raw if isinstance(raw, list) else []
    return frozenset(one for one in listed if isinstance(one, str))


def _name(root: Path, workflow: Path | None) -> str:
    real = os.path.normcase(root.resolve())
    # No path: a version that knows no workflow.toml keeps the line, and trusts nothing by it.
    return f"workflow:{os.path.normcase(workflow.resolve())}→{real}" if workflow else real
