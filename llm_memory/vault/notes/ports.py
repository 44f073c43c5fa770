"""The notes in the Markdown tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ...models.notes import NoteChunk, NotePlace, NoteSection
from ..ports import FileReport

type Signature = tuple[int, int, int]
"""Changes when a file is written: nanoseconds, bytes, and the number that the disk gave it."""


@dataclass(frozen=True, slots=True)
class NotePlaces:
    """The places that have a folder, and the folders that nobody can ever read."""

    places: tuple[NotePlace, ...]
    broken: tuple[FileReport, ...] = ()


@dataclass(frozen=True, slots=True)
class NoteFolder:
    """The files of a place that may be notes, by path.

    ``whole`` is False where a folder could not be looked into: what is missing may be there.
    """

    files: Mapping[str, Signature] = field(default_factory=dict)
    broken: tuple[FileReport, ...] = ()
    whole: bool = True


class NoteSource(Protocol):
    """Reads notes, writes none. Every method blocks; no link is followed."""

    def places(self) -> NotePlaces | None:
        """Where notes may stand. None while the tree is away: its disk was taken out, say."""
        ...

    def survey(self, place: NotePlace) -> NoteFolder:
        """The files of a place, and when they were written."""
        ...

    def read(self, place: NotePlace, path: str) -> tuple[NoteChunk, ...]:
        """The pieces of a note that say something; none of a file that holds entries.

        Raises VaultFileBroken.
        """
        ...

    def section(self, chunk: NoteChunk) -> NoteSection | None:
        """The section around a piece as its file is now; None if the piece is not there any more.

        Raises VaultFileBroken.
        """
        ...
