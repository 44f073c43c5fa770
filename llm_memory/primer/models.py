"""The values of a primer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from ..models.recall import Hit


class PrimerPart(StrEnum):
    """A section, in the order in which they are given. Each has a text in the i18n files."""

    CONSTITUTION = "constitution"
    """What people wrote into ``CONSTITUTION.md``, as rules: in ``shared/`` for everybody, in a
    scope's folder for its conversations."""
    RULES = "rules"
    """Standing instructions of trusted speakers only."""
    OWNER = "owner"
    """What a person wrote into the scope's MEMORY.md and PRIMER.md."""
    PEOPLE = "people"
    TASKS = "tasks"
    DAYS = "days"


@dataclass(frozen=True, slots=True)
class PrimerSection:
    """One section: memories, or the owner's own lines.

    Attributes:
        names: The people present, in the section of people.
        words: A person's lines as they are in the file.
        left_at: The line of its text, from 1, at which a constitution is cut; 0 where it is whole.
        pointer: What opens a constitution that is cut.
        changed: It is another constitution than at the last session.
    """

    part: PrimerPart
    hits: tuple[Hit, ...] = ()
    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    left_at: int = 0
    pointer: str = ""
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Primer:
    """Empty for most turns: the first turn after a pause has sections, that of a new talk has the
    constitution, and the next one after a rule was set has the rule.

    Attributes:
        away: How long the conversation was silent; None if it was not.
        tokens: The estimated tokens of all sections as rendered.
    """

    sections: tuple[PrimerSection, ...] = ()
    away: timedelta | None = None
    tokens: int = 0

    @property
    def shown(self) -> frozenset[tuple[str, str]]:
        """Returns scope and id of all memories in it."""
        hits = [hit for section in self.sections for hit in section.hits]
        return frozenset((h.scope_name, h.memory_id) for hit in hits for h in (hit, *hit.also))


@dataclass(frozen=True, slots=True)
class Primed:
    """Records that a conversation got a primer: counts, no text."""

    at: datetime
    away: timedelta
    scopes: tuple[str, ...]
    memories: int


@dataclass(frozen=True, slots=True)
class Overview:
    """Where things stand, for a reader who asks. ``shared``: the notes that everybody reads, a file
    with its headings each. ``sessions``: how the last sessions in the reader's role ended, the
    newest first, each with its file."""

    primer: Primer = Primer()
    shared: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
