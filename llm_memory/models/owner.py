"""What the owner of a home is told about a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .data_models import StoredMemory
from .status import IndexState


@dataclass(frozen=True, slots=True)
class Listing:
    """Memories, the newest first. ``more``: there are others beyond the limit."""

    memories: tuple[StoredMemory, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class StoreWarning:
    """A notice that stands: its code, what it is about, and what was said of it."""

    code: str
    subject: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """How a store is doing.

    Attributes:
        pid: The process that has it open.
        memories: Memories by scope.
        notes: Pieces of notes.
        tasks: Open tasks that the conversation sees.
        words: Memories and pieces in the index of words; None where that is not open.
        vectors: Those in the index of vectors; None where there is none.
        index: What recall is served by.
        embedder: Whose vectors; ``lexical`` for words alone.
        refused: Why the embedding service of the settings is not used, empty for no reason.
    """

    pid: int
    memories: Mapping[str, int] = field(default_factory=dict)
    notes: int = 0
    tasks: int = 0
    words: int | None = None
    vectors: int | None = None
    index: IndexState = IndexState.WAITING
    embedder: str = ""
    refused: str = ""
    warnings: tuple[StoreWarning, ...] = ()
