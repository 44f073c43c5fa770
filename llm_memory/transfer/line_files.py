"""Files that memories travel in: written whole or not at all, read line by line."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from io import BufferedIOBase, BytesIO
from itertools import chain, count, islice
from pathlib import Path
from typing import Final

from ..errors import TransferFailed
from ..storage.files import drop_beside, is_link, make_folder, move, temporary_beside
from .rules.format import Line

MAX_LINE: Final = 32 * 1024 * 1024
"""Bytes. Longer ones are passed over: so much is held in memory at a time."""
MAX_IMPORT: Final = 64 * 1024 * 1024
"""Bytes of a file that a command reads."""
_CHUNK: Final = 1 << 20
_LONGEST_NAME: Final = 200


@contextlib.contextmanager
def translated(fault: str, name: str) -> Iterator[None]:
    """Raises TransferFailed for what the disk refuses."""
    try:
        yield
    except OSError as error:
        raise TransferFailed(fault, f"{name}: {error.strerror or error}") from error


@contextlib.contextmanager
def made_anew(path: Path) -> Iterator[Path]:
    """Gives a new empty file to write to, which no other user of the machine may read: it holds
    whole scopes' words. At the end it is on disk in the place of ``path``.

    Raises TransferFailed: there is no such file, as after anything that is raised inside.
    """
    temporary = temporary_beside(path)
    try:
        with translated("not_written", path.name):
            make_folder(path.parent)
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            yield temporary
            with temporary.open("r+b") as file:
                os.fsync(file.fileno())
            move(temporary, path)
    except BaseException:
        drop_beside(temporary)
        raise


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a new file with these lines, or none. Raises TransferFailed, and what ``lines``
    raises."""
    with made_anew(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


class LineFile:
    """An open file, read once from its beginning. Every method blocks."""

    def __init__(
        self, source: Path | bytes, *, most: int | None = None, max_line: int = MAX_LINE
    ) -> None:
        """``source``: where the file lies, or what it holds.

        Raises TransferFailed: no such file, no plain file, or larger than ``most`` bytes.
        """
        self._max = max_line
        self._number = 0
        self._name = "" if isinstance(source, bytes) else source.name
        self._file: BufferedIOBase = (
            BytesIO(source) if isinstance(source, bytes) else _opened(source, most)
        )

    def __iter__(self) -> Iterator[Line]:
        """Returns the lines that are left. Blank ones are passed over. Raises TransferFailed."""
        with translated("unreadable", self._name):
            while raw := self._file.readline(self._max + 1):
                self._number += 1
                if (line := self._line(raw)) is not None:
                    yield line

    def take(self, count: int) -> list[Line]:
        """Returns the next ones, at most ``count``; none at the end. Raises TransferFailed."""
        return list(islice(self, count))

    def _line(self, raw: bytes) -> Line | None:
        if len(raw) > self._max and not raw.endswith(b"\n"):
            while (rest := self._file.readline(_CHUNK)) and not rest.endswith(b"\n"):
                pass
            return Line(self._number, fault="too_long")
        try:
            # Notepad puts a mark before the first line.
            text = raw.decode("utf-8-sig" if self._number == 1 else "utf-8").strip()
        except UnicodeDecodeError:
            return Line(self._number, fault="not_json")
        return Line(self._number, text) if text else None

    def close(self) -> None:
        """Give the file back. Idempotent."""
        self._file.close()


def _opened(path: Path, most: int | None) -> BufferedIOBase:
    with translated("unreadable", path.name):
        if not os.path.lexists(path):
            raise TransferFailed("not_found", path.name)
        if is_link(path) or not path.is_file():  # a pipe would be waited for
            raise TransferFailed("not_a_file", path.name)
        size = path.stat().st_size
        if most is not None and size > most:
            megabytes, limit = (-(-number // _CHUNK) for number in (size, most))
            raise TransferFailed("too_large", f"{megabytes} MB > {limit} MB")
        return path.open("rb")


class TransferFolders:
    """The two folders that commands write to and read from. Every method blocks."""

    def __init__(self, data: Path) -> None:
        self._exports = data / "exports"
        self._imports = data / "imports"

    def free(self, name: str) -> Path:
        """Returns the path in ``exports/`` of a new file of this name, or of one like it where that
        is taken. Raises TransferFailed."""
        if is_link(self._exports):
            raise TransferFailed("not_written", self._exports.name)
        whole = Path(name)
        names = chain([name], (f"{whole.stem}-{number}{whole.suffix}" for number in count(2)))
        return next(p for p in map(self._exports.joinpath, names) if not os.path.lexists(p))

    def find(self, name: str) -> Path:
        """Returns the path of a file of ``imports/``. Raises TransferFailed."""
        if not is_link(self._imports):
            with translated("unreadable", self._imports.name):
                make_folder(self._imports)  # so that an owner finds where to put it
        return named_in(self._imports, name)


def named_in(folder: Path, name: str) -> Path:
    """The path of the file of that name, which must not lead elsewhere. Raises TransferFailed."""
    if not _is_plain(name):
        raise TransferFailed("not_a_name", name[:80])
    if is_link(folder) or is_link(folder / name):
        raise TransferFailed("not_a_file", name)
    if not os.path.lexists(folder / name):
        raise TransferFailed("not_found", name)
    return folder / name


def _is_plain(name: str) -> bool:
    """True for the name of a file in the folder itself, on any system."""
    return (
        bool(name)
        and len(name.encode("utf-8", "replace")) <= _LONGEST_NAME
        and not name.startswith(".")
        and not any(c in '/\\:*?"<>|' or ord(c) < 32 or "\ud800" <= c <= "\udfff" for c in name)
    )
