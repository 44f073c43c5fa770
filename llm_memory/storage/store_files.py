"""The files in which the bot keeps what people say, looked through as bytes."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from ..models.vault_layout import is_other_version
from .files import is_temporary, remove_stale

_CHUNK: Final = 4 << 20
_OVERLAP: Final = 64 << 10
"""Bytes that are read twice, so that what lies across the border of two chunks is found."""
_REST_SECONDS: Final = 0.004
_PASSED_BY: Final = (".", "adoption", "migration.sqlite", "dictionary.bin")
"""What was brought from elsewhere is its owner's to delete; a dictionary holds no one's words."""
_SET_ASIDE: Final = ".broken-"
_DATABASES: Final = (".sqlite", ".sqlite3")
_LOCKS: Final = "-shm"
"""The end of the name of a file that holds only locks and an index of pages."""


class StoreFiles:
    """Every method blocks, and is called by one thread at a time.

    Args:
        data: The data folder: of it the state and the index are searched.
        memory: The Markdown tree.
    """

    def __init__(self, data: Path, memory: Path) -> None:
        self._data = data
        self._memory = memory
        self._held: dict[tuple[int, int], BinaryIO] = {}

    def remove_stale(self) -> None:
        """Delete the temporary files that a killed process left. Never raises."""
        for top in (self._data, self._memory):
            for folder, folders, names in os.walk(top):
                remove_stale(Path(folder, name) for name in (*folders, *names))

    def search[T](self, found_in: Callable[[bytes], set[T]]) -> dict[str, set[T]]:
        """Returns what was found, by the file's path. Raises OSError for a file that cannot be
        read: it may hold any."""
        found: dict[str, set[T]] = {}
        for path in self._files():
            try:
                some = self._found(path, found_in)
            except FileNotFoundError:  # it went meanwhile
                continue
            if some:
                top = self._memory if path.is_relative_to(self._memory) else self._data
                found[path.relative_to(top).as_posix()] = some
        return found

    def _files(self) -> Iterator[Path]:
        for top in (self._memory, self._data / "state", self._data / "index"):
            yield from _below(top, _is_searched)
        for path in _below(self._data):
            if any(map(is_temporary, path.relative_to(self._data).parts)):
                yield path

    def _found[T](self, path: Path, found_in: Callable[[bytes], set[T]]) -> set[T]:
        found: set[T] = set()
        with self._opened(path) as file:
            before = b""
            while chunk := file.read(_CHUNK):
                found |= found_in(before + chunk)
                before = chunk[-_OVERLAP:]
                time.sleep(_REST_SECONDS)
        return found

    @contextlib.contextmanager
    def _opened(self, path: Path) -> Iterator[BinaryIO]:
        """Closing any handle of a file gives up the locks that this process has on it, those of an
        open database, too. So one handle of each database is kept until ``close``."""
        if os.name == "nt" or not path.name.endswith(_DATABASES):
            with path.open("rb") as file:
                yield file
            return
        status = path.stat()
        name = status.st_dev, status.st_ino
        if name not in self._held:
            self._held[name] = path.open("rb")
        self._held[name].seek(0)
        yield self._held[name]

    def close(self) -> None:
        """Close what was kept open, after the databases were closed. Idempotent."""
        while self._held:
            self._held.popitem()[1].close()


def _is_searched(name: str) -> bool:
    if is_temporary(name):
        return True
    return not (
        name.startswith(_PASSED_BY)
        or name.endswith(_LOCKS)
        or _SET_ASIDE in name
        or is_other_version(name)
    )


def _below(top: Path, wanted: Callable[[str], bool] = lambda _: True) -> Iterator[Path]:
    """Yields the files below a folder whose names, and whose folders' names, are wanted."""
    for folder, folders, names in os.walk(top):
        folders[:] = filter(wanted, folders)
        for name in filter(wanted, names):
            path = Path(folder, name)
            if not path.is_symlink():
                yield path
