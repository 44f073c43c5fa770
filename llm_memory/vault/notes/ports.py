"""Port for the notes in the Markdown tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ...models.notes import NoteChunk, NotePlace, NoteSection
from ..ports import FileReport

type Signature = tuple[int, int, int]
"""Changes when a file is written: modification time in nanoseconds, size, inode number."""


@dataclass(frozen=True, slots=True)
class NotePlaces:
    """The places that have a folder, and folders that no conversation can read."""

    places: tuple[NotePlace, ...]
    broken: tuple[FileReport, ...] = ()


@dataclass(frozen=True, slots=True)
class NoteFolder:
    """The files of a place that may be notes, by path.

    ``whole`` is False if a folder could not be read: missing files may exist.
    """

    files: Mapping[str, Signature] = field(default_factory=dict)
    broken: tuple[FileReport, ...] = ()
    whole: bool = True


class NoteSource(Protocol):
    """Reads notes. Every method blocks; links are not followed."""

    def places(self) -> NotePlaces | None:
        """Returns where notes may be; None while the tree is unavailable (its disk was removed,
        say)."""
        ...

    def survey(self, place: NotePlace) -> NoteFolder:
        """Returns the files of a place and their signatures."""
        ...

    def read(self, place: NotePlace, path: str) -> tuple[NoteChunk, ...]:
        """Returns the pieces of a note worth indexing; none for a file of entries.

        Raises VaultFileBroken.
        """
        ...

    def section(self, chunk: NoteChunk) -> NoteSection | None:
        """Returns the section around a piece as its file is now; None if the piece was removed.

        Raises VaultFileBroken.
        """
        ...
