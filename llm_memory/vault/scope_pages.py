"""Reads MEMORY.md and PRIMER.md of a scope, and replaces the version that was read."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from ..errors import VaultFileBroken, VaultWriteFailed
from ..models.scope import Scope
from ..models.vault_layout import archive_path, part_path
from ..storage.files import ABSENT, ChangedMeanwhile, move, replace_durably
from .vault_tree import VaultTree, is_gone

MAX_PAGE: Final = 1024 * 1024
"""Bytes. A larger file was not written by the bot."""


@dataclass(frozen=True, slots=True)
class Page:
    """A file as it was read. ``write`` compares its ``stamp``."""

    raw: bytes
    stamp: tuple[int, int, int]


class ScopePagesOnDisk:
    """The files of a scope that are no topic files, beside the vault, over the same tree."""

    def __init__(self, root: Path) -> None:
        # The vault's lock guards topic files; pages are not among them.
        self._tree = VaultTree(root, contextlib.nullcontext())

    def open(self) -> None:
        """Prepare, after the vault was opened. Raises VaultWriteFailed."""
        self._tree.open()

    def read(self, scope: Scope, name: str) -> Page | None:
        """Returns None if there is no page. Raises VaultWriteFailed for anything but a plain file
        of ours."""
        path = self._place(scope, name)
        if is_gone(path):
            return None
        try:
            if path.lstat().st_size > MAX_PAGE:
                raise VaultWriteFailed(f"{name}: larger than {MAX_PAGE >> 20} MB")
            found = self._tree.read(path, patient=True)
        except (OSError, VaultFileBroken) as error:
            raise VaultWriteFailed(f"{name}: {error}") from error
        return Page(found.raw, found.stamp)

    def write(self, scope: Scope, name: str, raw: bytes, read: Page | None) -> bool:
        """Replace the version that was read. Returns False, and writes nothing, if another program
        wrote to the file meanwhile. Raises VaultWriteFailed."""
        self._tree.make(scope)
        try:
            replace_durably(self._place(scope, name), raw, read.stamp if read else ABSENT)
        except ChangedMeanwhile:
            return False
        return True

    def keep(self, scope: Scope, name: str, raw: bytes, *, most: int) -> None:
        """Keep a former text in ``archive/``, the newest ``most`` of each file. Raises
        VaultWriteFailed."""
        self._tree.make(scope)
        parts = [
            self._place(scope, archive_path(part_path(name, part))) for part in range(1, most + 1)
        ]
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if parts[0].read_bytes() == raw:  # a crash came between this step and the write
                return
        try:
            for newer, older in reversed(list(pairwise(parts))):
                if not is_gone(newer):
                    move(newer, older)
        except OSError as error:
            raise VaultWriteFailed(f"{name}: {error.strerror or error}") from error
        replace_durably(parts[0], raw)

    def _place(self, scope: Scope, name: str) -> Path:
        """Returns the file's path. Raises VaultWriteFailed if there is no tree, or a link in the
        path."""
        self._tree.require_disk()
        path = self._tree.folder(scope) / self._tree.name_on_disk(scope, name)
        self._tree.refuse_links(path)
        return path
