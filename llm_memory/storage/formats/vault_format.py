"""The format of the Markdown tree: ``memory/.format.json``.

People edit this tree, copy it and throw files away. So a stamp that is missing or makes no sense
means format 1, and steps must leave alone what has their own format already.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Final

from ...errors import UpgradeFailed, VaultWriteFailed
from ...log import logger
from ..files import make_folder, move, replace_durably, sync_folder
from .backups import drop_backup, new_backup
from .numbers import read_stamp, refuse_newer

FORMAT: Final = 1
STAMP: Final = ".format.json"

Step = Callable[[PurePosixPath, bytes], bytes]
"""The content of one Markdown file, its path below ``scopes/`` told, in the next format."""

STEPS: Final[Mapping[int, Step]] = MappingProxyType({})
"""By the number that a step starts from."""


class VaultFormat:
    """Implements the ``StoredFormat`` port. ``version`` is the plugin's."""

    def __init__(
        self,
        root: Path,
        backups: Path,
        *,
        version: str = "",
        known: int = FORMAT,
        steps: Mapping[int, Step] = STEPS,
    ) -> None:
        self._root = root
        self._path = root / STAMP
        self._backups = backups
        self._version = version
        self._known = known
        self._steps = steps

    def check(self) -> None:
        refuse_newer(self._path, read_stamp(self._path), self._known, self._version)

    def upgrade(self) -> None:
        """All files of a step, or none of them. A crash in the middle is gone on from."""
        stamp = read_stamp(self._path)
        found = stamp.format if stamp else 1
        if found < self._known and self._has_files():
            try:
                for number in range(found, self._known):
                    self._step(number)
            except Exception as error:  # a step may raise anything, and then we must not go on
                raise UpgradeFailed(str(self._root), str(error) or type(error).__name__) from error
            logger.info("vault_upgraded", old=found, new=self._known)
        elif stamp is None or found < self._known:
            # A vault that we cannot write to now can be read all the same.
            with contextlib.suppress(VaultWriteFailed):
                self._write_stamp(self._known)

    def _step(self, number: int) -> None:
        changed = {}
        for path in self._files():
            before = path.read_bytes()
            after = self._steps[number](self._below(path), before)
            if after != before:
                changed[path] = after
        if changed:
            backup = self._back_up(list(changed), number)
            try:
                self._replace(changed)
            except Exception:
                if all(
                    path.read_bytes() == self._copy(path, backup).read_bytes() for path in changed
                ):
                    drop_backup(backup)
                raise
        self._write_stamp(number + 1)

    def _back_up(self, paths: list[Path], number: int) -> Path:
        with new_backup(self._backups, "vault", number) as folder:
            for path in paths:
                copy = self._copy(path, folder)
                make_folder(copy.parent)
                shutil.copy2(path, copy)
                with copy.open("rb+") as file:
                    os.fsync(file.fileno())
                sync_folder(copy.parent)
        return folder

    def _copy(self, path: Path, backup: Path) -> Path:
        return backup / "scopes" / self._below(path)

    def _replace(self, changed: Mapping[Path, bytes]) -> None:
        """First everything that needs room on the disk, then the renames, which need none."""
        staged = {path: _staged(path) for path in changed}
        before = {path: (path.read_bytes(), path.stat()) for path in changed}
        begun: list[Path] = []
        try:
            for path, content in changed.items():
                replace_durably(staged[path], content)
                _make_like(staged[path], before[path][1])
            for path in changed:
                begun.append(path)
                move(staged[path], path)
        except BaseException:
            for path in staged.values():
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
            for path in begun:
                content, status = before[path]
                with contextlib.suppress(VaultWriteFailed, OSError):
                    replace_durably(path, content)
                    _make_like(path, status)
            raise

    def _write_stamp(self, number: int) -> None:
        """Raises VaultWriteFailed."""
        content = {"format": number, "written_by": self._version}
        replace_durably(self._path, (json.dumps(content) + "\n").encode())

    def _has_files(self) -> bool:
        return next(self._files(), None) is not None

    def _files(self) -> Iterator[Path]:
        """Every Markdown file of ours, archives too; nothing behind a link."""
        for folder, _, names in os.walk(self._root / "scopes"):
            for path in sorted(Path(folder, name) for name in names if name.endswith(".md")):
                if path.is_file() and not path.is_symlink():
                    yield path

    def _below(self, path: Path) -> PurePosixPath:
        return PurePosixPath(path.relative_to(self._root / "scopes").as_posix())


def _staged(path: Path) -> Path:
    """The same at each try, so that a crash leaves nothing for good; no longer than disks allow."""
    name = hashlib.sha256(path.name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return path.with_name(f".{name}.upgrade.tmp")


def _make_like(path: Path, status: os.stat_result) -> None:
    """Entries that state no time have their file's."""
    path.chmod(status.st_mode & 0o777)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
