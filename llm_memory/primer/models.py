"""What a conversation is told when it comes back after a pause."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from ..models.recall import Hit


class PrimerPart(StrEnum):
    """A section, in the order in which they are given. Each has a text in the i18n files."""

    RULES = "rules"
    """What somebody who is trusted wants from now on. No others' words are here."""
    OWNER = "owner"
    """What a person wrote into the scope's PRIMER.md."""
    PEOPLE = "people"
    TASKS = "tasks"
    DAYS = "days"


@dataclass(frozen=True, slots=True)
class PrimerSection:
    """One section: memories, or the owner's own lines.

    Attributes:
        names: Who is here, in the section of people.
        words: The owner's lines as they stand in his file.
    """

    part: PrimerPart
    hits: tuple[Hit, ...] = ()
    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Primer:
    """Nothing, for the most part: only the first turn after a pause has sections.

    Attributes:
        away: How long the conversation was silent; None where nothing is due.
        tokens: An estimate of what all sections cost as they are written.
    """

    sections: tuple[PrimerSection, ...] = ()
    away: timedelta | None = None
    tokens: int = 0

    @property
    def shown(self) -> frozenset[tuple[str, str]]:
        """Scope and id of all memories in it."""
        return frozenset((hit.scope_name, hit.memory_id) for s in self.sections for hit in s.hits)


@dataclass(frozen=True, slots=True)
class Primed:
    """That a conversation got one: counts, and nobody's words."""

    at: datetime
    away: timedelta
    scopes: tuple[str, ...]
    memories: int
    tokens: int
