"""The folder of a former six-tool memory (``.openclaw_memory``): read, and never written to."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from ..errors import HomeError, SaidError
from ..models.data_models import Memory
from ..models.transfer import End, Header, MemoryRecord, Record
from ..storage.files import is_link
from ..storage.local_zone import MACHINE_ZONE
from ..texts import Said, at
from ..transfer.line_files import LineFile
from ..transfer.rules.format import VERSION, line_of
from .rules.openclaw_markdown import read_file

FOLDER: Final = ".openclaw_memory"
MAX_BYTES: Final = 1024 * 1024
_MOST_FILES: Final = 10_000
_DEEPEST: Final = 8
_DERIVED: Final = frozenset({"PRIMER.md"})
"""Made of the other files."""
if sys.platform == "win32":
    _FLAGS = os.O_RDONLY | os.O_BINARY
else:  # nothing waits for the other end of a pipe, and the last step goes through no link
    _FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class ForeignStore:
    """What a folder holds.

    Attributes:
        memories: In the order of the files' names.
        files: How many files were read.
        turns: Whole conversations in them, which are no memories.
        refused: Files that were not read, and why.
    """

    memories: tuple[Memory, ...]
    files: int
    turns: int
    refused: tuple[tuple[str, Said], ...]


class _NotRead(SaidError):
    """Why a file is not read."""


def find_store(path: Path) -> Path:
    """Returns the folder itself, where ``path`` is it or holds it. Raises HomeError."""
    inside = path / FOLDER
    top = inside if path.name != FOLDER and os.path.lexists(inside) else path
    if is_link(top):
        raise HomeError(at(top, "path.link"))
    if not top.is_dir():
        raise HomeError(at(top, "path.no_folder"))
    return top.resolve()


def is_global(top: Path, project: Path | None, user: Path) -> bool:
    """Returns True for a store of its user's, False for a project's.

    The user's own lies in the user's folder ``user``. What lies in a project is the project's
    whatever it holds: a checkout must not bring memories that all projects see. A copy that lies
    elsewhere is told by its folder ``user``, which a project's store does not have.
    """
    if top.parent == user.resolve():
        return True
    if project is not None and top.is_relative_to(project.resolve()):
        return False
    return (top / "user").is_dir()


def read_store(top: Path) -> ForeignStore:
    """Read all Markdown files of a folder, as they are now. Raises HomeError."""
    memories: list[Memory] = []
    refused: list[tuple[str, Said]] = []
    files = turns = 0
    for relative, path in _walk(top, refused):
        try:
            text, modified = _text(path)
        except _NotRead as error:
            refused.append((relative, error.said))
            continue
        found = read_file(relative, text, modified)
        memories += found.memories
        turns += found.turns
        files += 1
    return ForeignStore(tuple(memories), files, turns, tuple(refused))


def import_file(memories: Iterable[Memory], now: datetime) -> LineFile:
    """Returns memories as a file to be imported: the importer knows what stands there already, and
    what was corrected since."""
    missing = frozenset({"id"})
    records: list[Record] = [MemoryRecord("", "", one, missing=missing) for one in memories]
    lines = [Header(VERSION, exported_at=now), *records, End(len(records), 0)]
    return LineFile("\n".join(map(line_of, lines)).encode())


def _walk(
    top: Path, refused: list[tuple[str, Said]], inside: str = "", deep: int = 0
) -> Iterator[tuple[str, Path]]:
    try:
        entries = sorted(top.iterdir())[:_MOST_FILES]
    except OSError as error:
        refused.append((inside or ".", Said("path.unreadable", why=error.strerror)))
        return
    for path in entries:
        relative = f"{inside}{path.name}"
        if is_link(path):
            refused.append((relative, Said("path.link")))
        elif path.is_dir():
            if not path.name.startswith(".") and deep < _DEEPEST:
                yield from _walk(path, refused, f"{relative}/", deep + 1)
        elif path.name.lower().endswith(".md") and path.name not in _DERIVED:
            yield relative, path


def _text(path: Path) -> tuple[str, datetime]:
    """Raises _NotRead."""
    try:
        descriptor = os.open(path, _FLAGS)
        with open(descriptor, "rb") as file:  # noqa: PTH123  (of a descriptor)
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise _NotRead("path.no_file")
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _NotRead("path.unreadable", why=error.strerror) from error
    if len(raw) > MAX_BYTES:
        raise _NotRead("path.too_large")
    try:
        return raw.decode("utf-8-sig"), datetime.fromtimestamp(status.st_mtime, MACHINE_ZONE)
    except (UnicodeDecodeError, ValueError, OverflowError) as error:
        raise _NotRead("path.no_text") from error
