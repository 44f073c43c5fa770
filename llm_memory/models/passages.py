"""What recall finds: a memory or a piece of a note. Who takes a ``Passage`` asks these functions,
so that neither kind is a special case."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from .consent import only_reader
from .data_models import StoredMemory
from .scope import Place

type Passage = StoredMemory | NoteChunk


def place_name(passage: Passage) -> str:
    """The name that filters go by: the scope's, or the shelf's."""
    if isinstance(passage, NoteChunk):
        return passage.place.name
    shelf = only_reader(passage.scope, passage.memory)
    return passage.scope.name if shelf is None else shelf.name


def passage_id(passage: Passage) -> str:
    return passage.note_id if isinstance(passage, NoteChunk) else passage.memory.memory_id


def moment_of(passage: Passage) -> datetime:
    """When it was said or decided, or the note last written."""
    return passage.modified if isinstance(passage, NoteChunk) else passage.memory.created_at


class Key(NamedTuple):
    """A record of the index: scope, or shelf, and id together, so that no id reaches into another.
    A tuple, for a recall hashes thousands of them."""

    scope: str
    memory_id: str


@dataclass(frozen=True, slots=True)
class NoteChunk:
    """A piece of a note, as it is found and pointed to.

    Attributes:
        note_id: ``n-`` and hexadecimal digits, made of place, path, headings and text.
        path: Relative to the place's folder, with ``/``.
        headings: Those above and of the piece, the widest first, without marks.
        text: Its lines in the file, from number ``first`` to ``last``.
        modified: When its file was last written, or the decision made of which it is a record.
        heading_lines: So many of its first lines are its own heading.
        settled: It is of a record that a later one has superseded or withdrawn.
        reference: Where that record was discussed, ``Issue #12 · PR #34``; empty for none.
        proposal: The key of what that record was, before it was accepted.
        unvouched: An agent wrote it, as the summary of its session.
    """

    note_id: str
    place: Place
    path: str
    headings: tuple[str, ...]
    text: str
    first: int
    last: int
    modified: datetime
    heading_lines: int = 0
    settled: bool = False
    reference: str = ""
    proposal: str = ""
    unvouched: bool = False

    @property
    def file(self) -> str:
        """For a person: relative to the scope's folder, or for a shelf to the root."""
        return f"{self.place.folder}/{self.path}" if self.place.is_shelf else self.path

    @property
    def pointer(self) -> str:
        """``trips/japan.md#n-…``."""
        return f"{self.file}#{self.note_id}"


@dataclass(frozen=True, slots=True)
class NoteSection:
    """All under one heading, subsections included: what a pointer to a piece of it opens. ``cut``
    lines are left out at its end, for it may be a whole book."""

    chunk: NoteChunk
    text: str
    first: int
    last: int
    cut: int = 0
