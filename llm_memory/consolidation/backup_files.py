"""The nightly backups in ``backups/daily/``: a copy of the tree, and a file that is made of it.

The copy is made in two rounds: all files while the bot writes, then, under the writers' lock, those
that have changed since. So writers wait for a look at the files, not for the copying, and the copy
is of one moment.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from ..errors import TransferFailed
from ..models.vault_layout import CARRIED, SCOPES
from ..storage.disk_space import RESERVE, free_bytes
from ..storage.files import Stamp, is_link, make_folder, move, stamp_of
from ..transfer.line_files import LineFile, translated, write_lines
from ..transfer.store_reader import MAX_FILE, StoreReader
from ..vault.folder_walk import everything
from ..vault.notes.root_notes import notes_in_root

_NAME: Final = re.compile(r"\d{4}-\d\d-\d\d(?:-\d{6})?\.jsonl")
_STAGE: Final = ".stage"
_NEW: Final = ".new.jsonl"


class DailyBackups:
    """The folder of the nightly backups. Every method blocks, and raises TransferFailed."""

    def __init__(
        self,
        folder: Path,
        memory: Path,
        *,
        free: Callable[[Path], int] = free_bytes,
    ) -> None:
        """``memory`` is the tree, ``folder`` where backups go; ``free`` returns the free bytes of a
        path's disk."""
        self._free = free
        self._folder = folder
        self._memory = memory
        self._stage = folder / _STAGE
        self._copied: dict[str, Stamp] = {}

    def snapshot(self) -> None:
        """Copy the tree. A second call copies what has changed."""
        with translated("not_written", self._folder.name):
            found = self._look()
            fresh = {
                path: stamp for path, stamp in found.items() if self._copied.get(path) != stamp
            }
            need = sum(size for _, size, _ in fresh.values())
            make_folder(self._folder)
            # The copy, the new file, which may be twice as long, and room for everybody else.
            if self._free(self._folder) < need * 3 + RESERVE:
                raise TransferFailed("not_written", "no room on the disk")
            for path in self._copied.keys() - found.keys():
                (self._stage / path).unlink(missing_ok=True)
                del self._copied[path]
            for scope in self._folders():
                (self._stage / scope).mkdir(parents=True, exist_ok=True, mode=0o700)
            for path, stamp in fresh.items():
                self._copy(path, stamp)

    def _folders(self) -> list[str]:
        """Returns the folders of scopes, also of those without a file."""
        scopes = self._memory / SCOPES
        if not scopes.is_dir() or is_link(scopes):
            return []
        return [f"{SCOPES}/{p.name}" for p in scopes.iterdir() if p.is_dir() and not is_link(p)]

    def _look(self) -> dict[str, Stamp]:
        paths = list(notes_in_root(self._memory))
        for top, endings in CARRIED.items():
            if not is_link(self._memory / top):
                inside = everything(self._memory / top, [])
                paths += [f"{top}/{path}" for path in inside if path.lower().endswith(endings)]
        found = {}
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                status = (self._memory / path).lstat()
                if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_FILE:
                    found[path] = stamp_of(status)
        return found

    def _copy(self, path: str, stamp: Stamp) -> None:
        source, target = self._memory / path, self._stage / path
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            shutil.copyfile(source, target, follow_symlinks=False)
        except (FileNotFoundError, PermissionError):  # gone, or not readable
            target.unlink(missing_ok=True)
            self._copied.pop(path, None)
            return
        os.utime(target, ns=(stamp[0], stamp[0]))
        self._copied[path] = stamp

    def staged_store(self) -> StoreReader:
        """Returns the staged copy of the store."""
        return StoreReader(self._stage)

    def write(self, lines: Iterable[str]) -> None:
        """Write a new file, which ``publish`` puts in its place."""
        write_lines(self._folder / _NEW, lines)

    def new_file(self) -> LineFile:
        """Returns the new file, for reading."""
        return LineFile(self._folder / _NEW)

    def read(self, name: str) -> LineFile:
        """Returns an existing backup, for reading."""
        return LineFile(self._folder / name)

    def publish(self, name: str) -> None:
        """Put the new file in its place."""
        with translated("not_written", name):
            move(self._folder / _NEW, self._folder / name)

    def names(self) -> list[str]:
        """Returns the names of the backups, the oldest first."""
        with translated("not_written", self._folder.name):
            if not self._folder.is_dir():
                return []
            return sorted(
                path.name
                for path in self._folder.iterdir()
                if _NAME.fullmatch(path.name) and path.is_file() and not is_link(path)
            )

    def remove(self, name: str) -> None:
        """Delete a backup."""
        if _NAME.fullmatch(name):
            with translated("not_written", name):
                (self._folder / name).unlink(missing_ok=True)

    def clear(self) -> None:
        """Delete the copy and what a crash left. Never raises."""
        self._copied.clear()
        if not is_link(self._stage):
            shutil.rmtree(self._stage, ignore_errors=True)
        with contextlib.suppress(OSError):
            (self._folder / _NEW).unlink(missing_ok=True)
            for left in self._folder.glob(".*.tmp"):  # a kill in the middle of the writing
                left.unlink(missing_ok=True)
