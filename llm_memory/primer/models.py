"""The values of a primer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from ..models.data_models import Source, StoredMemory
from ..models.passages import place_name
from ..models.recall import Hit
from ..models.scope import PUBLIC_NAME


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
        return frozenset((hit.scope_name, hit.memory_id) for s in self.sections for hit in s.hits)


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


@dataclass(frozen=True, slots=True)
class Participants:
    """The people that a primer is for, by id, and their conversation."""

    persons: Collection[str] = ()
    conversation: str = ""

    def may_be_shown(self, stored: StoredMemory) -> bool:
        """False for what a stranger told the bot in another conversation: recall finds it on
        request, but a primer does not show it.

        Of public a primer shows what was said by these people or in this conversation, what an
        admin vouches for, and what was written by hand or imported without a speaker.
        """
        if place_name(stored) != PUBLIC_NAME:
            return True
        origin = stored.memory.provenance
        if origin.vouched or stored.memory.speaker in self.persons:
            return True
        if origin.conversation and origin.conversation == self.conversation:
            return True
        unsigned = not (origin.person or origin.who or origin.conversation)
        return unsigned and origin.source is not Source.REFLECTION
