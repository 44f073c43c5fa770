"""MEMORY.md and PRIMER.md of a scope: read, and put in their place, as they were read."""

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
"""Bytes. What is larger is nothing that we wrote into."""


@dataclass(frozen=True, slots=True)
class Page:
    """A file as it was read. ``stamp`` is told back when it is written."""

    raw: bytes
    stamp: tuple[int, int, int]


class ScopePagesOnDisk:
    """The files of a scope that are no topic files, beside the vault, over the same tree."""

    def __init__(self, root: Path) -> None:
        # The vault's lock guards its own files, and these are none of them.
        self._tree = VaultTree(root, contextlib.nullcontext())

    def open(self) -> None:
        """Make ready, once the vault is. Raises VaultWriteFailed."""
        self._tree.open()

    def read(self, scope: Scope, name: str) -> Page | None:
        """None if there is none. Raises VaultWriteFailed for what is no plain file of ours."""
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
        """Put this in the place of what was read; False, and nothing is written, if somebody wrote
        to it meanwhile. Raises VaultWriteFailed."""
        self._tree.make(scope)
        try:
            replace_durably(self._place(scope, name), raw, read.stamp if read else ABSENT)
        except ChangedMeanwhile:
            return False
        return True

    def keep(self, scope: Scope, name: str, raw: bytes, *, most: int) -> None:
        """``archive/MEMORY.md`` is the newest, ``archive/MEMORY-2.md`` the one before: each moves
        up by one, the oldest first, so that a crash between leaves a gap and loses none."""
        self._tree.make(scope)
        parts = [
            self._place(scope, archive_path(part_path(name, part))) for part in range(1, most + 1)
        ]
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if parts[0].read_bytes() == raw:  # a crash came between this and the writing
                return
        try:
            for newer, older in reversed(list(pairwise(parts))):
                if not is_gone(newer):
                    move(newer, older)
        except OSError as error:
            raise VaultWriteFailed(f"{name}: {error.strerror or error}") from error
        replace_durably(parts[0], raw)

    def _place(self, scope: Scope, name: str) -> Path:
        """Raises VaultWriteFailed: no tree, or a link on the way."""
        self._tree.refuse_absence()
        path = self._tree.folder(scope) / self._tree.spelled(scope, name)
        self._tree.refuse_links(path)
        return path
