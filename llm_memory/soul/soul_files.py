"""The files of a soul: ``roles/<role>/SOUL.md``, and all of ``soul/<role>/``.

Nothing else in the engine opens these files for writing.
"""

from __future__ import annotations

import contextlib
import os
import stat
from io import FileIO
from pathlib import Path
from typing import Final

from ..errors import VaultWriteFailed
from ..models.scope import ROLES_FOLDER, SOUL_FOLDER, Place
from ..models.vault_layout import SOUL_CHAIN, SOUL_PAGE, SOUL_VERSIONS
from ..storage.files import (
    ABSENT,
    ChangedMeanwhile,
    Stamp,
    append_durably,
    drop_beside,
    is_link,
    is_temporary,
    put_in_place,
    remove_stale,
    replace_durably,
    stamp_of,
    write_beside,
)
from ..vault.pages import MAX_PAGE, Page

PROBES: Final = "probes.md"
"""The owner's own, which are read alone."""
VERSIONS: Final = SOUL_VERSIONS
PROPOSALS: Final = "proposals"
EVALS: Final = "evals"
DISCARDED: Final = "discarded"
_FOLDERS: Final = (VERSIONS, PROPOSALS, EVALS, DISCARDED)
_LONGEST_CHAIN: Final = 16 * MAX_PAGE
"""Bytes."""


def is_role(folder: str) -> bool:
    """True for the folder's name of a persona, or of none."""
    shelf = Place.of_folder(folder)
    return shelf is not None and shelf.folder == f"{ROLES_FOLDER}/{folder}"


class SoulFiles:
    """Every method blocks, and raises VaultWriteFailed: for what the disk says, and for a link, a
    file with a second name or anything else but plain files in plain folders. ``role`` is the
    folder's name of a persona; names are paths below ``soul/<role>/``."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def roles(self) -> list[str]:
        """Returns the roles that have a soul. A SOUL.md alone is a note, as it ever was, until
        somebody changes the soul of that role."""
        top = self._root / SOUL_FOLDER
        try:
            if is_link(top):
                return []
            with os.scandir(top) as entries:
                there = [one.name for one in entries if one.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _told(top.name, error) from error
        return sorted(filter(is_role, there))

    def pages(self) -> dict[str, Stamp]:
        """Returns the stamp of each SOUL.md of a role that has a soul, ``ABSENT`` for none."""
        return {role: self._stamp(role) for role in self.roles()}

    def _stamp(self, role: str) -> Stamp:
        try:
            return stamp_of((self._root / ROLES_FOLDER / role / SOUL_PAGE).lstat())
        except OSError:
            return ABSENT

    def page(self, role: str) -> Page | None:
        """Returns SOUL.md, None if there is none."""
        return self._read(self._page(role))

    def read(self, role: str, name: str) -> bytes | None:
        """Returns a file's content, None if there is none."""
        page = self._read(self._path(role, name))
        return page.raw if page else None

    def names(self, role: str, folder: str) -> list[str]:
        """Returns the names in a folder, without temporary files."""
        top = self._path(role, folder)
        try:
            return sorted(one.name for one in top.iterdir() if not is_temporary(one.name))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _told(folder, error) from error

    def add(self, role: str, name: str, raw: bytes) -> bool:
        """Write a file that is not there yet, whole or not at all. Returns False, and leaves it
        alone, where one with other bytes is."""
        try:
            replace_durably(self._path(role, name), raw, ABSENT)
        except ChangedMeanwhile:
            return self.read(role, name) == raw
        return True

    def append(self, role: str, line: bytes) -> None:
        """Append a line to the chain, unless it ends in a torn one."""
        if not (self.read(role, SOUL_CHAIN) or b"\n").endswith(b"\n"):
            raise VaultWriteFailed(f"{SOUL_CHAIN}: its last line is torn")
        append_durably(self._path(role, SOUL_CHAIN), line + b"\n")

    def cut_chain(self, role: str, torn: bytes) -> None:
        """Take a torn line off the chain's end."""
        raw = self.read(role, SOUL_CHAIN) or b""
        replace_durably(self._path(role, SOUL_CHAIN), raw.removesuffix(torn))

    def stage(self, role: str, raw: bytes) -> Path:
        """Write the next SOUL.md beside it, so that a full disk is met before anything is in
        force."""
        return write_beside(self._page(role), raw)

    def put_page(self, role: str, staged: Path, stamp: Stamp) -> None:
        """Put what was staged in the place of the SOUL.md that had this stamp. Raises
        ChangedMeanwhile where a person has saved it since."""
        put_in_place(staged, self._page(role), stamp)

    def drop(self, staged: Path) -> None:
        """Remove what was staged. Never raises."""
        drop_beside(staged)

    def clean(self, role: str) -> None:
        """Remove what killed processes have left half-written. Never raises for what it cannot."""
        tops = [self._page(role).parent, self._path(role, "")]
        for top in (*tops, *(self._path(role, folder) for folder in _FOLDERS)):
            with contextlib.suppress(OSError):
                remove_stale(list(top.iterdir()))

    def _page(self, role: str) -> Path:
        return self._checked(ROLES_FOLDER, role, SOUL_PAGE)

    def _path(self, role: str, name: str) -> Path:
        return self._checked(SOUL_FOLDER, role, *filter(None, name.split("/")))

    def _checked(self, *parts: str) -> Path:
        """Returns the path below the root, whose parts are no links."""
        if not is_role(parts[1]):
            raise VaultWriteFailed(f"{parts[1]}: no role's folder")
        path = self._root
        for number, part in enumerate(parts, 1):
            path = path / part
            if is_link(path):
                raise VaultWriteFailed(f"{'/'.join(parts[:number])}: a link")
        try:
            found = path.lstat()
        except FileNotFoundError:
            return path
        except OSError as error:
            raise _told("/".join(parts), error) from error
        is_plain = stat.S_ISREG(found.st_mode) and found.st_nlink <= 1
        if not is_plain and not stat.S_ISDIR(found.st_mode):
            raise VaultWriteFailed(f"{'/'.join(parts)}: no plain file")
        return path

    def _read(self, path: Path) -> Page | None:
        shown = path.relative_to(self._root).as_posix()
        most = _LONGEST_CHAIN if path.name == SOUL_CHAIN else MAX_PAGE
        try:
            with FileIO(path, "r", opener=_open_itself) as file:
                status = os.fstat(file.fileno())  # first: a write after it is noticed
                if status.st_size > most:
                    raise VaultWriteFailed(f"{shown}: larger than {most >> 20} MB")
                return Page(file.readall() or b"", stamp_of(status))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _told(shown, error) from error


def version_name(number: int) -> str:
    """Returns the path of a version's file."""
    return f"{VERSIONS}/{number:04d}.md"


def proposal_name(number: int) -> str:
    """Returns the path of a proposal's file."""
    return f"{PROPOSALS}/{number:04d}.md"


def verdict_name(name: str) -> str:
    """Returns the path of an evaluation's file."""
    return f"{EVALS}/{name}.json"


def _open_itself(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))


def _told(shown: str, error: OSError) -> VaultWriteFailed:
    return VaultWriteFailed(f"{shown}: {error.strerror or error}")
