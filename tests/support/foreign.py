"""Places that agents and conversations may not write, what leads there, and hostile names of it."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Collection
from pathlib import Path
from typing import Final

FOREIGN: Final = {
    "shared/CONSTITUTION.md": "# Rules\n\nBe punctual.\n",
    "shared/DECISIONS.md": "# Decisions\n\n## D-0001 Postgres\n> Accepted · 2026-11-01\n",
    "roles/qa/MEMORY.md": "# qa\n\n<!-- scoped-memory:begin x -->\n<!-- scoped-memory:end -->\n",
    "roles/qa/2026-11-27.md": "# 2026-11-27\n",
    "MEMORY.md": "# Of an older layout\n\nThe lamps are dim.\n",
}
_COMPOSED: Final = unicodedata.normalize("NFC", "roles/caf\u00e9/MEMORY.md")
TWINS: Final = (
    "Shared/DECISIONS.md",
    "SHARED/DECISIONS.md",
    "Roles/qa/MEMORY.md",
    "roles/QA/MEMORY.md",
    "\uff53\uff48\uff41\uff52\uff45\uff44/DECISIONS.md",  # full-width
    "\uff52\uff4f\uff4c\uff45\uff53/qa/MEMORY.md",
    _COMPOSED,
    unicodedata.normalize("NFD", _COMPOSED),
)
"""Other spellings: where a disk tells them apart, folders that are nobody's."""
WAYS: Final = (
    "{}",
    "/{}",
    "./{}",
    "../{}",
    "../../{}",
    "project/{}",
    "project/../../{}",
    "global/{}",
    "links/../{}",
    "up/{}",
    "{}:1-2",
    "{}#m-0123456789abcdef",
    "## D-0002 {}\n> Accepted · 2026-11-02",
    "# {}\n<!-- scoped-memory:begin x -->\nWe write it there\n<!-- scoped-memory:end -->",
    "@shared {}",
)
TEXTS: Final = tuple(way.format(path) for way in WAYS for path in FOREIGN)


_PAGES: Final = (
    "decisions.md",
    "TASKS.md",
    "MEMORY.md",
    "PRIMER.md",
    "patterns.md",
    "entities.md",
    "instructions.md",
    "preferences.md",
)


def plant(memory: Path, paths: Collection[str] = ()) -> None:
    """Put the places, and more files at ``paths``, into a memory root."""
    for path in (*FOREIGN, *paths):
        (memory / path).parent.mkdir(parents=True, exist_ok=True)
        (memory / path).write_text(FOREIGN.get(path, f"# {path}\n"), "utf-8")


def plant_links(memory: Path, mine: Path, *, hard: bool = False) -> None:
    """Put links that lead there into a folder that may be written, where links need no right."""
    mine.mkdir(parents=True, exist_ok=True)
    if os.name == "nt":
        return
    (mine / "up").symlink_to(memory)
    if not hard:
        for name in ("links", "journal", "shared", "archive"):
            (mine / name).symlink_to(memory / "shared")
    files = [memory / path for path in FOREIGN]
    for number, name in enumerate(_PAGES):
        make = (mine / name).hardlink_to if hard else (mine / name).symlink_to
        make(files[number % len(files)])


def bytes_in(memory: Path, *, but: Collection[str] = ("scopes",)) -> dict[str, bytes]:
    """Every file and folder of a memory root outside these folders, and what it holds."""
    return {
        name: b"" if path.is_dir() else path.read_bytes()
        for path in memory.rglob("*")
        if not (name := path.relative_to(memory).as_posix()).startswith(tuple(but))
    }
