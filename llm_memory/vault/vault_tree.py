"""Finds and reads the files of the vault. It creates folders, and writes no files."""

from __future__ import annotations

import os
import re
import unicodedata
from codecs import getincrementaldecoder
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ..errors import InvalidScope, VaultFileBroken, VaultWriteFailed
from ..models.scope import ROOT_NOTES, SHARED, Place, Scope
from ..models.vault_layout import ARCHIVE, folded, is_recalled
from ..storage.files import Stamp, is_link, make_folder, stamp_of, when_free
from .folder_walk import Listing, Stamps, archived, list_files, stamps
from .markdown.entry import ID_PATTERN
from .markdown.topic_file import Entry, TopicFile, parse_file
from .rules.encodings import Encoding, likely_encoding

_ANY_ID = re.compile(ID_PATTERN.encode())
MAX_FILE_BYTES: Final = 8 * 1024 * 1024
"""A larger file of a person's is not read: reading, naming and recording its entries takes a thread
two to three seconds a megabyte. The bot splits its own files far below this."""


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """A file as it was read: its bytes, and the stamp that another version would change."""

    path: Path
    raw: bytes
    stamp: Stamp

    @property
    def modified(self) -> datetime:
        """Returns when it was written."""
        return _moment(self.stamp[0] / 1e9)

    @property
    def ids(self) -> set[str]:
        """Returns every id in it, without parsing it."""
        return {name.decode() for name in _ANY_ID.findall(self.raw)}

    def parsed(self) -> TopicFile:
        """Returns its entries. Raises VaultFileBroken."""
        try:
            # A crash may have cut the last character; the text before it is whole.
            text = getincrementaldecoder("utf-8")().decode(self.raw)
        except UnicodeDecodeError as error:
            raise _no_utf8(self.path, self.raw) from error
        return parse_file(text, fallback_time=self.modified)


class VaultTree:
    """The folders ``scopes/<scope>``, ``shared`` and ``roles/<role>`` below the memory root.

    ``reading`` is entered while a file is read. What goes through all folders goes through those of
    scopes alone: on a shelf there are notes, and no entries.
    """

    def __init__(self, root: Path, reading: AbstractContextManager[object]) -> None:
        self._root = root
        self._scopes = root / "scopes"
        self._reading = reading
        self._disk: int | None = None
        self._own: set[Place] = set()
        self._folds: bool | None = None

    def open(self) -> None:
        """Create the tree. Afterwards it is never created again. Raises VaultWriteFailed."""
        with _translated(self._scopes):
            make_folder(self._scopes)
            self._disk = self._scopes.stat().st_dev

    def make(self, place: Place) -> None:
        """Make a place's folder, if it is missing: whoever writes into one begins here.

        Raises VaultWriteFailed; also for ``shared/``, which the recorder alone writes, and for what
        lies in the root itself, which people alone write.
        """
        if place == SHARED:
            raise VaultWriteFailed(f"{SHARED.folder}: only accepted decisions are written there")
        if place == ROOT_NOTES:
            raise VaultWriteFailed("the memory root: only people write there")
        folder = self.folder(place)
        self.require_disk()
        self.refuse_links(folder)
        with _translated(folder):
            make_folder(folder)
            if place not in self._own and _composed(folder.name) not in {
                _composed(p.name) for p in folder.parent.iterdir()
            }:
                # On a disk that folds case, ``home`` finds ``Home``, which is another scope's.
                raise VaultWriteFailed(
                    f"{folder.name}: a folder's name differs from it in case only"
                )
        self._own.add(place)

    def require_disk(self) -> None:
        """Raises VaultWriteFailed if the tree is unavailable (its disk was removed, say).

        A write would then land on another disk, and be hidden when ours is mounted again.
        """
        if self._disk is None:
            return
        with _translated(self._scopes):
            if self._scopes.stat().st_dev != self._disk and not any(self._scopes.iterdir()):
                raise VaultWriteFailed(
                    f"{self._scopes.name}: another, empty disk stands in its place"
                )

    def folder(self, place: Place) -> Path:
        """Returns the folder of a place's files. Raises ValueError for a person's shelf: it has
        none, and the path would be that of the whole tree."""
        if not place.folder:
            raise ValueError(f"{place.name} has no folder")
        folder = self._root / place.folder
        return _as_spelt(folder) if place.is_shelf and not place.folder.isascii() else folder

    def relative(self, place: Place, path: Path) -> str:
        """Returns a file's path inside its place, with ``/``."""
        return path.relative_to(self.folder(place)).as_posix()

    def place_of(self, path: Path) -> tuple[str, str] | None:
        """Returns the scope's folder and the path inside it of anything in a scope's folder."""
        if not path.is_relative_to(self._scopes):
            return None
        scope, *inside = path.relative_to(self._scopes).parts or ("",)
        return (scope, "/".join(inside)) if inside else None

    def name_on_disk(self, place: Place, relative: str) -> str:
        """Returns a file's path as the disk lists it: a disk that folds case or normalises accents
        finds a file under other names, too."""
        if relative.isascii() and not self._folds_case():
            return relative
        folder, found = self.folder(place), []
        for name in relative.split("/"):
            try:
                names = [entry.name for entry in os.scandir(folder)]
            except OSError:
                names = []
            alike = [other for other in names if folded(other) == folded(name)]
            found.append(name if name in names or not alike else alike[0])
            folder /= found[-1]
        return "/".join(found)

    def _folds_case(self) -> bool:
        """True if the disk takes ``SCOPES`` for ``scopes``."""
        if self._folds is None:
            try:
                other = self._scopes.with_name(self._scopes.name.upper())
                self._folds = other.samefile(self._scopes)
            except OSError:
                self._folds = False
        return self._folds

    def folders(self) -> list[tuple[Scope | None, str]]:
        """Returns every folder with its scope, None for an illegal name or a link."""
        found: list[tuple[Scope | None, str]] = []
        if not self._scopes.is_dir():
            return found
        for folder in sorted(self._scopes.iterdir()):
            if folder.name.startswith(".") or not folder.is_dir():
                continue
            try:
                scope = None if is_link(folder) else Scope.parse(folder.name, derived=True)
            except InvalidScope:
                scope = None
            found.append((scope, folder.name))
        return found

    def list_files(self, place: Place, wanted: Callable[[str], bool] = is_recalled) -> Listing:
        """Returns the wanted files of a place, else those whose entries may be recalled."""
        top = self.folder(place)
        return Listing() if self._is_or_has_link(top) else list_files(top, wanted)

    def stamps(self, scope: Scope) -> Stamps:
        """Returns the same with the files' stamps."""
        top = self.folder(scope)
        return Stamps() if self._is_or_has_link(top) else stamps(top)

    def archived_files(self, place: Place, shut: list[str] | None = None) -> tuple[Path, ...]:
        """Returns the files of the place's archive; unreadable folders are added to ``shut``."""
        archive = self.folder(place) / ARCHIVE
        return () if self._is_or_has_link(archive) else archived(archive, shut)

    def refuse_links(self, path: Path) -> None:
        """Raises VaultWriteFailed if the path has a link in it: nothing is written through
        links."""
        if self._is_or_has_link(path):
            raise VaultWriteFailed(f"{path.name}: a link stands in its place or on the way")

    def _is_or_has_link(self, path: Path) -> bool:
        """True if the path has a link in it, which could lead into another place's folder. An owner
        may have made ``scopes`` itself a link."""
        inside = (path, *path.parents)
        top = self._scopes if self._scopes in inside else self._root
        return any(is_link(p) for p in inside[: inside.index(top)])

    def named(self, name: str) -> Scope | None:
        """Returns the scope of a folder, which may have been removed."""
        try:
            return Scope.parse(name, derived=True)
        except InvalidScope:
            return None

    def load(self, path: Path) -> TopicFile:
        """Read a file. Raises VaultFileBroken."""
        return self.read(path).parsed()

    def find(self, path: Path, memory_id: str) -> tuple[FileSnapshot, TopicFile, Entry] | None:
        """Returns a file and an entry in it, None if there is no such entry. Raises
        VaultFileBroken."""
        return next(iter(self.find_all(path, [memory_id])), None)

    def find_all(
        self, path: Path, memory_ids: Collection[str]
    ) -> list[tuple[FileSnapshot, TopicFile, Entry]]:
        """The same for the first entry of each of these ids."""
        reading = self.read(path, patient=True, limit=MAX_FILE_BYTES)
        names = reading.ids & {*memory_ids}
        if not names:  # parsing takes long, and holds up others
            return []
        file = reading.parsed()
        entries = {entry.memory.memory_id: entry for entry in reversed(file.entries)}
        return [(reading, file, entries[name]) for name in names if name in entries]

    def read(self, path: Path, *, patient: bool = False, limit: int | None = None) -> FileSnapshot:
        """Returns the bytes, if there are no more than ``limit``. The start is not ``patient``:
        retrying a thousand unreadable files would take as many seconds. Raises VaultFileBroken."""
        try:
            if path.is_file():  # reading a pipe would block
                with self._reading:
                    # First the stamp: the next round notices a write between the two.
                    status = path.lstat()
                    if limit is not None and status.st_size > limit:
                        raise VaultFileBroken(path.name, "oversized")
                    raw = when_free(path.read_bytes) if patient else path.read_bytes()
                    return FileSnapshot(path, raw, stamp_of(status))
        except OSError as error:
            raise VaultFileBroken(path.name, "unreadable") from error
        raise VaultFileBroken(path.name, "unreadable")


def is_gone(path: Path) -> bool:
    """True if nothing exists there; False also if that cannot be checked."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False


def _no_utf8(path: Path, raw: bytes) -> VaultFileBroken:
    match likely_encoding(raw):
        case Encoding.GB18030:
            return VaultFileBroken(path.name, "gb18030")
        case Encoding.UTF_16:
            return VaultFileBroken(path.name, "utf16")
        case None:
            return VaultFileBroken(path.name, "not_utf8")


def _as_spelt(folder: Path) -> Path:
    """The folder as its disk spells it: macOS decomposes letters (NFD)."""
    with suppress(OSError):
        alike = (p for p in folder.parent.iterdir() if _composed(p.name) == folder.name)
        return min(alike, default=folder)
    return folder


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise VaultWriteFailed(f"{path.name}: {error.strerror or error}") from error


def _moment(timestamp: float) -> datetime:
    try:
        return datetime.fromtimestamp(timestamp, UTC)
    except (ValueError, OverflowError):  # some disks keep invalid dates
        return datetime.fromtimestamp(0, UTC)
