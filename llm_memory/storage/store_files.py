"""The files that the bot itself keeps what people say in, searched as they stand."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

from ..models.vault_layout import CARRIED, ENDINGS
from ..runtime.cooperative import cooperative
from .files import KeptOpen, is_temporary, keep_open, when_free

_DATABASES: Final = (".sqlite", ".sqlite3")
_NOBODYS: Final = ("-shm", "dictionary.bin")
"""How files end that hold no statement: locks and numbers of pages; words of a dictionary."""
_OWN: Final = ("state", "index", "backups")
"""The folders of the data folder in which nothing is a person's."""
_STALE_SECONDS: Final = 600
"""A temporary file that was not written to for so long belongs to a process that was killed."""
_PIECE: Final = 1 << 18
"""Bytes that are looked at at a time."""
_OVERLAP: Final = 1 << 16
"""Bytes that are given twice, so that what lies across the border of two pieces is found."""


class StoreFiles:
    """Every method blocks, and is called by one thread at a time.

    Args:
        data: The data folder.
        memory: The Markdown tree, there or elsewhere.
    """

    def __init__(self, data: Path, memory: Path) -> None:
        self._data = data
        self._memory = memory
        self._held: KeptOpen = {}

    def remove_stale(self) -> None:
        """Delete the temporary files and folders that a killed process left. Never raises: what
        cannot be deleted stays."""
        for top in (self._data, self._memory):
            for folder, folders, names in os.walk(top):
                for path in (Path(folder, one) for one in (*folders, *names) if is_temporary(one)):
                    with contextlib.suppress(OSError):
                        if time.time() - path.lstat().st_mtime > _STALE_SECONDS:
                            when_free(
                                partial(shutil.rmtree, path) if path.is_dir() else path.unlink
                            )

    def search(self, is_held: Callable[[Iterable[bytes]], bool]) -> list[str]:
        """Search each file, given in pieces that overlap. Returns the paths of those that hold it,
        and, with the reason, of files and folders that cannot be read: they may."""
        found = list[str]()

        def shut(error: OSError) -> None:
            if not isinstance(error, FileNotFoundError):  # it went meanwhile
                found.append(f"{self._name(Path(error.filename))}: {error.strerror}")

        for path in cooperative(self._files(shut)):
            try:
                if stat.S_ISREG(path.lstat().st_mode) and is_held(self._pieces(path)):
                    found.append(self._name(path))
            except OSError as error:
                shut(OSError(error.errno, error.strerror or str(error), str(path)))
        return found

    def _name(self, path: Path) -> str:
        """A path as owners know it."""
        top = self._data if path.is_relative_to(self._data) else self._memory
        return path.relative_to(top).as_posix()

    def _files(self, shut: Callable[[OSError], None]) -> Iterator[Path]:
        for top in (self._data / name for name in _OWN):
            for folder, _, names in os.walk(top, onerror=shut):
                yield from (Path(folder, one) for one in names if not one.endswith(_NOBODYS))
        for top in (self._memory / name for name in CARRIED):
            for folder, folders, names in os.walk(top, onerror=shut):
                # What is hidden there is an editor's or a sync program's.
                folders[:] = [one for one in folders if not one.startswith(".")]
                for one in names:
                    ours = not one.startswith(".") and one.lower().endswith((*ENDINGS, ".tmp"))
                    if ours or is_temporary(one):
                        yield Path(folder, one)

    def _pieces(self, path: Path) -> Iterator[bytes]:
        """One handle of each database is kept until ``close``."""
        with contextlib.ExitStack() as stack:
            if os.name == "nt" or not path.name.endswith(_DATABASES):
                file: BinaryIO = stack.enter_context(path.open("rb"))
            else:
                file = keep_open(path, self._held)
            before = b""
            while piece := file.read(_PIECE):
                yield before + piece
                before = piece[-_OVERLAP:]

    def close(self) -> None:
        """Close what was kept open, after the databases were closed. Idempotent."""
        while self._held:
            self._held.popitem()[1].close()
