"""What recall finds: a memory or a piece of a note. Who takes a ``Passage`` asks these functions,
so that neither kind is a special case.

And who may read what the bot learned by listening: listening to a private chat is no consent to
publish it. What was remembered in a private chat without anybody asking for it (a passive memory,
or one that a woken agent stored), and stands in a scope that strangers read, is shown to its
speaker alone. It stands in the files of that scope, and on the speaker's shelf for every filter:
recall, lists, primers, exports, merging and the indexes all go by ``place_name``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from .conversation import ConversationKind, is_well_formed
from .data_models import Memory, Source, StoredMemory
from .scope import Place, Scope, ScopeFilter

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


def only_reader(scope: Scope, memory: Memory) -> Place | None:
    """The shelf of the one person who may read a memory of ``scope``; None if everybody who reads
    the scope may. Where no speaker is known, the private conversation itself has the shelf."""
    origin = memory.provenance
    asked_for = memory.active and origin.source is not Source.AGENT
    return _shelf(origin.person, origin.conversation) if scope.is_public and not asked_for else None


def is_for_speaker_alone(scope: Scope, conversation: str) -> bool:
    """True if what is learned from a conversation with this scope is for its speaker alone."""
    return scope.is_public and is_private_chat(conversation)


def has_known_readers(scope: Scope, memory: Memory) -> bool:
    """False where the bot put together what it heard in several conversations, or in one that it
    does not name: brought to a public scope, it would be read by everybody."""
    origin = memory.provenance
    unnamed = origin.source is Source.REFLECTION and not origin.conversation
    return memory.active or not (scope.is_public and unnamed)


def readers(scope: Scope, memory: Memory) -> ScopeFilter:
    """What a memory that is written to ``scope`` may be compared with."""
    shelf = only_reader(scope, memory)
    return ScopeFilter((scope,), shelves=() if shelf is None else (shelf,))


def is_private_chat(conversation: str) -> bool:
    """True for the id of any conversation that is no group. False for an empty or malformed one:
    entries that were written by hand, or brought from elsewhere, name no conversation."""
    kind = conversation.split(":", 2)[1] if is_well_formed(conversation) else ConversationKind.GROUP
    return kind != ConversationKind.GROUP


@lru_cache(maxsize=4096)
def _shelf(person: str, conversation: str) -> Place | None:
    return Place.of_person(person or conversation) if is_private_chat(conversation) else None
