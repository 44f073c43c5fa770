"""Files that memories travel in, and a store as a whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from ..models.transfer import FileRecord, LeftOut, LineFault, MemoryRecord


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, without its end. ``number`` begins at 1; ``fault`` if it is no text."""

    number: int
    text: str = ""
    fault: LineFault | None = None


class LineSource(Protocol):
    """An open file, read once from its beginning. Every method blocks."""

    def take(self, count: int) -> list[Line]:
        """The next lines, at most ``count``; none at the end. Blank lines are passed over.

        Raises TransferFailed.
        """
        ...

    def close(self) -> None:
        """Give the file back. Idempotent."""
        ...


class TransferFiles(Protocol):
    """The two folders that commands write to and read from. Every method blocks."""

    def write(self, name: str, lines: Iterable[str]) -> str:
        """Write a new file into ``exports/``, readable by its owner alone: the name that it got,
        another one where this one is taken. Raises TransferFailed, and then there is no file."""
        ...

    def open(self, name: str) -> LineSource:
        """A file of ``imports/``. Raises TransferFailed: the code is a TransferFault."""
        ...


class Put(StrEnum):
    """What became of a file that was to be put into a store."""

    WRITTEN = "written"
    SAME = "same"
    DIFFERS = "differs"


class WholeStore(Protocol):
    """The Markdown tree with all that stands in it. Every method blocks; its owner holds the
    folder's lock, and no bot has it open."""

    def scopes(self) -> tuple[str, ...]:
        """The names of the scopes that have a folder."""
        ...

    def records(self, only: Collection[str] | None = None) -> Iterator[MemoryRecord | FileRecord]:
        """All that stands in the tree, of these scopes alone if some are named, file by file: if
        its entries do not give it back, the file first. Then its entries, in their order."""
        ...

    def left_out(self) -> Sequence[LeftOut]:
        """What the last ``records`` could not carry."""
        ...

    def put_file(self, record: FileRecord) -> Put:
        """A file, if none stands there. Raises TransferFailed."""
        ...

    def put_memories(self, scope: str, path: str, entries: Sequence[MemoryRecord]) -> int:
        """Entries of one file, in their order: how many stand there now and did not before.

        One whose id lives in the scope already, or lies in the archive's file word by word, is
        known and stays. Raises TransferFailed, and then none was written.
        """
        ...

    def close(self) -> None:
        """Give back what was opened. Idempotent."""
        ...
