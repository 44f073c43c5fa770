"""Reads MEMORY.md and PRIMER.md of a place, and replaces the version that was read."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from ..errors import VaultFileBroken, VaultWriteFailed
from ..models.scope import Place
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


def text_of(page: Page | None) -> str | None:
    """Returns its text, empty for no page; None for what is no UTF-8: every byte of it is
    somebody's."""
    if page is None:
        return ""
    try:
        return page.raw.decode()
    except UnicodeDecodeError:
        return None


class PagesOnDisk:
    """The files of a place that are no topic files, beside the vault, over the same tree."""

    def __init__(self, root: Path) -> None:
        # The vault's lock guards topic files; pages are not among them.
        self._tree = VaultTree(root, contextlib.nullcontext())

    def open(self) -> None:
        """Prepare, after the vault was opened. Raises VaultWriteFailed."""
        self._tree.open()

    def read(self, place: Place, name: str, *, most: int = MAX_PAGE) -> Page | None:
        """Returns None if there is no page. Raises VaultWriteFailed for anything but a plain file
        of ours, of ``most`` bytes."""
        path = self._path(place, name)
        if is_gone(path):
            return None
        try:
            if path.lstat().st_size > most:
                raise VaultWriteFailed(f"{name}: larger than {most >> 20} MB")
            found = self._tree.read(path, patient=True)
        except (OSError, VaultFileBroken) as error:
            raise VaultWriteFailed(f"{name}: {error}") from error
        return Page(found.raw, found.stamp)

    def write(self, place: Place, name: str, raw: bytes, read: Page | None) -> bool:
        """Replace the version that was read. Returns False, and writes nothing, if another program
        wrote to the file meanwhile. Raises VaultWriteFailed."""
        self._tree.make(place)
        try:
            replace_durably(self._path(place, name), raw, read.stamp if read else ABSENT)
        except ChangedMeanwhile:
            return False
        return True

    def path_in(self, place: Place, name: str) -> Path:
        """Make the folder of a place. Returns the path of a file in it, to be appended to. Raises
        VaultWriteFailed."""
        self._tree.make(place)
        return self._path(place, name)

    def names(self, place: Place) -> list[str]:
        """Returns the paths of its files, inside the place, but for pages and the archive."""
        return [self._tree.relative(place, path) for path in self._tree.list_files(place).files]

    def keep(self, place: Place, name: str, raw: bytes, *, most: int) -> None:
        """Keep a former text in ``archive/``, the newest ``most`` of each file. Raises
        VaultWriteFailed."""
        self._tree.make(place)
        parts = [
            self._path(place, archive_path(part_path(name, part))) for part in range(1, most + 1)
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

    def _path(self, place: Place, name: str) -> Path:
        """Returns the file's path. Raises VaultWriteFailed if there is no tree, or a link in the
        path."""
        self._tree.require_disk()
        path = self._tree.folder(place) / self._tree.name_on_disk(place, name)
        self._tree.refuse_links(path)
        return path
