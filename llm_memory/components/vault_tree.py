"""Finding and reading the files of the vault. Nothing here writes but folders."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path

from ..errors import InvalidScope, VaultFileBroken, VaultWriteFailed
from ..markdown.topic_file import TopicFile, parse_file
from ..models.scope import Scope
from ..policies.text import is_sendable
from ..policies.vault_layout import ARCHIVE, is_recalled
from .files import make_folder


class VaultTree:
    """The folders ``<root>/scopes/<scope>``. ``reading`` is held while a file is read."""

    def __init__(self, root: Path, reading: AbstractContextManager[object]) -> None:
        self._scopes = root / "scopes"
        self._reading = reading

    def make(self, scope: Scope | None = None) -> None:
        """Make the tree, or a scope's folder in it. Raises VaultWriteFailed."""
        folder = self._scopes if scope is None else self.folder(scope)
        self.refuse_links(folder)
        try:
            make_folder(folder)
        except OSError as error:
            raise VaultWriteFailed(f"{folder.name}: {error.strerror or error}") from error

    def folder(self, scope: Scope) -> Path:
        """Where a scope's files stand."""
        return self._scopes / scope.name

    def relative(self, scope: Scope, path: Path) -> str:
        """A file's path inside its scope, with ``/``."""
        return path.relative_to(self.folder(scope)).as_posix()

    def folders(self) -> list[tuple[Scope | None, str]]:
        """Every folder with its scope, None for a name that is none, or a link."""
        found: list[tuple[Scope | None, str]] = []
        if not self._scopes.is_dir():
            return found
        for folder in sorted(self._scopes.iterdir()):
            if folder.name.startswith(".") or not folder.is_dir():
                continue
            try:
                scope = None if folder.is_symlink() else Scope.parse(folder.name, derived=True)
            except InvalidScope:
                scope = None
            found.append((scope, folder.name))
        return found

    def files(self, scope: Scope) -> Iterator[Path]:
        """The scope's files whose entries may be recalled."""
        for path in sorted(self.folder(scope).rglob("*")):
            relative = self.relative(scope, path)
            if is_sendable(relative) and is_recalled(relative) and not self._leads_away(path):
                yield path

    def misnamed(self, scope: Scope) -> Iterator[str]:
        """Files whose names are no text (unpacked in another encoding), as far as they show."""
        for path in sorted(self.folder(scope).rglob("*")):
            relative = self.relative(scope, path)
            if not is_sendable(relative):
                yield relative.encode(errors="replace").decode()

    def archived_files(self, scope: Scope) -> Iterator[Path]:
        """The files of the scope's archive."""
        for path in sorted((self.folder(scope) / ARCHIVE).rglob("*.md")):
            if not self._leads_away(path):
                yield path

    def refuse_links(self, path: Path) -> None:
        """Raises VaultWriteFailed if a link lies on the way: nothing is written through one."""
        if self._leads_away(path):
            raise VaultWriteFailed(f"{path.name}: a link stands in its place or on the way")

    def _leads_away(self, path: Path) -> bool:
        """True if a link lies on the way: it could lead into another scope's folder."""
        inside = (path, *path.parents)
        return any(p.is_symlink() for p in inside[: inside.index(self._scopes)])

    def load(self, path: Path) -> TopicFile:
        """Read a file. Raises VaultFileBroken."""
        if not path.is_file():  # a pipe would hold us up
            raise VaultFileBroken(path.name, "unreadable")
        try:
            with self._reading:
                raw = path.read_bytes()
                modified = path.stat().st_mtime
            # A crash may have torn the last character; what stands before it is whole.
            text = getincrementaldecoder("utf-8")().decode(raw)
        except UnicodeDecodeError as error:
            raise VaultFileBroken(path.name, "not_utf8") from error
        except OSError as error:
            raise VaultFileBroken(path.name, "unreadable") from error
        return parse_file(text, fallback_time=_moment(modified))


def _moment(timestamp: float) -> datetime:
    try:
        return datetime.fromtimestamp(timestamp, UTC)
    except (ValueError, OverflowError):  # some disks keep dates that no calendar has
        return datetime.fromtimestamp(0, UTC)
