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
    """One section: memories, or ``words``, a person's lines as they are in the file. ``names``: the
    people present, in their section. ``pointer``: what opens a constitution that is cut."""

    part: PrimerPart
    hits: tuple[Hit, ...] = ()
    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class Primer:
    """Empty for most turns: the first turn after a pause has sections, that of a new talk has the
    constitution, and the next one after a rule was set has the rule. ``away``: how long the
    conversation was silent; None if it was not."""

    sections: tuple[PrimerSection, ...] = ()
    away: timedelta | None = None

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
    newest first, each with its file. ``new_rules``: the constitution is another one than at the
    last session."""

    primer: Primer = Primer()
    shared: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    new_rules: bool = False
