"""The files in which the bot keeps what people say, and all that lies beside them, searched."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from ..runtime.cooperative import cooperative
from .file_contents import contents
from .files import remove_stale

_DATABASES: Final = (".sqlite", ".sqlite3")
_LOCKS: Final = "-shm"
"""The end of the name of the file beside a database that holds only locks and numbers of pages."""
_DICTIONARY: Final = "index/dictionary.bin"
"""Made of a dictionary: it has a statement of one word, and holds nobody's."""

type FoundIn[T] = Callable[[Iterable[bytes]], set[T]]
"""What is found in a content, given in pieces that overlap."""


class StoreFiles:
    """Every method blocks, and is called by one thread at a time.

    Args:
        data: The data folder.
        memory: The Markdown tree, there or elsewhere.
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

    def search[T](
        self, found_in: FoundIn[T], stopped: threading.Event
    ) -> tuple[dict[str, set[T]], dict[str, str]]:
        """Search every regular file, archives and lines of JSON unpacked, until it is ``stopped``.

        Returns what was found, by the file's path, and why a file or folder could not be read, by
        its path: it may hold any.
        """
        found: dict[str, set[T]] = {}
        unread: dict[str, str] = {}

        def shut(error: OSError) -> None:
            if not isinstance(error, FileNotFoundError):  # it went meanwhile
                unread[self._name(Path(error.filename))] = error.strerror or str(error)

        for path in self._files(shut):
            if stopped.is_set():
                break
            try:
                some = self._found(path, found_in, stopped)
            except FileNotFoundError:
                continue
            except OSError as error:
                unread[self._name(path)] = error.strerror or str(error)
                continue
            if some:
                found[self._name(path)] = some
        return found, unread

    def _found[T](self, path: Path, found_in: FoundIn[T], stopped: threading.Event) -> set[T]:
        found: set[T] = set()
        with self._opened(path) as file:
            for content in cooperative(contents(file)):
                found |= found_in(_until(stopped, content))
        return found

    def _name(self, path: Path) -> str:
        """A path as owners know it."""
        top = self._data if path.is_relative_to(self._data) else self._memory
        return path.relative_to(top).as_posix()

    def _files(self, shut: Callable[[OSError], None]) -> Iterator[Path]:
        for top in self._tops():
            for folder, _, names in os.walk(top, onerror=shut):
                for path in (Path(folder, name) for name in names):
                    try:
                        is_file = stat.S_ISREG(path.lstat().st_mode)
                    except OSError as error:
                        shut(error)
                        continue
                    if is_file and not self._is_nobodys(path, names):
                        yield path

    def _tops(self) -> list[Path]:
        """The two folders, and what an owner has put on another disk by a link in the first."""
        tops: dict[Path, Path] = {}
        links = [path for path in self._data.glob("*") if path.is_symlink() and path.is_dir()]
        for top in (self._data, *links, self._memory):
            real = top.resolve()
            if not any(real.is_relative_to(one) for one in tops):
                tops[real] = top
        return list(tops.values())

    def _is_nobodys(self, path: Path, names: list[str]) -> bool:
        if path.name.endswith(_LOCKS) and path.name.removesuffix(_LOCKS) in names:
            return True
        return path == self._data / _DICTIONARY

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


def _until(stopped: threading.Event, pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in cooperative(pieces):
        if stopped.is_set():
            return
        yield piece
