"""What a person has corrected: the statement that was removed, where, and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class CorrectionKind(StrEnum):
    """How a statement was removed. The value is how it is stored."""

    FORGOTTEN = "forgotten"
    EDITED = "edited"
    MOVED = "moved"
    TAKEN_BACK = "taken_back"
    """Its speaker has said that it is so no more. The day on which it was so may be told."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A statement that nothing said before ``at`` may bring back.

    Attributes:
        scope: The one from which it was removed.
        target: The one to which it was moved, empty for the other kinds.
        memory_id: Of the entry that said it; once that was purged, its keyed hash.
        words: What it said. Empty once it was purged: then ``marks`` are what it is known by.
        person: Who had said it, empty where it is unknown; ``who`` is the name.
        said_at: When it was said: the days that its words name are counted from there.
        by: The name of who corrected it.
        marks: Keyed hashes of the statement and of its clauses.
        number: Given by the store.
    """

    kind: CorrectionKind
    scope: str
    memory_id: str
    words: str
    said_at: datetime
    at: datetime
    person: str = ""
    who: str = ""
    target: str = ""
    by: str = ""
    marks: tuple[str, ...] = ()
    number: int = 0


def is_hand_edit(correction: Correction) -> bool:
    """True for words that a person overwrote in a file: the name is unknown."""
    return correction.kind is CorrectionKind.EDITED and not correction.by
