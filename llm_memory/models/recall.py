"""What a recall answers, and how it can explain itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Final

from .turns import Voice

# In a trace's notes: nothing was looked for; nothing was shown, for the asker did not wait.
OFF_THE_RECORD = "off_the_record"
GIVEN_UP = "given_up"


class Arm(StrEnum):
    """What answered a recall."""

    HYBRID = "hybrid"
    LEXICAL = "lexical"
    DENSE = "dense"
    SCAN = "scan"
    DATES = "dates"
    NONE = "none"


class DropReason(StrEnum):
    """Why a candidate did not become a hit."""

    FLOOR = "below_floor"
    LIMIT = "over_limit"
    BUDGET = "over_budget"
    SAID = "said_already"


PRIVATE: Final = "@private"
UNKNOWN: Final = "?"
"""Stand for a private chat, which is not named, and for an unknown account, or group."""


@dataclass(frozen=True, slots=True)
class Byline:
    """Who a speaker is, where the name, which anybody can take, leaves it open.

    Attributes:
        account: A short mark of the account, or ``UNKNOWN``; empty where the name tells.
        elsewhere: No person of the reader's conversation said it, and it is not vouched for.
        reworded: The words are another person's, who has edited what the speaker said.
        retold: The name of who said it, in a model's words.
        heard: In which other conversation of the reader's private scope it was heard: what a group
            is called, or its number, ``UNKNOWN`` or ``PRIVATE``. Empty in the same one, and for
            what all may read: there it is not theirs to know.
    """

    admin: bool = False
    account: str = ""
    elsewhere: bool = False
    reworded: bool = False
    retold: str = ""
    heard: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A recalled memory or piece of a note: a preview and a pointer.

    Attributes:
        scope_name: Of the memory, or of the shelf of the note.
        day: Of what is told, or else when it was said; None where neither is known.
        relevance: 0 to 1, about the probability that it answers.
        person: The id of the person whose words it is, empty if unknown. Never shown.
        unvouched: It is not vouched for, and the asker did not say it.
        closed: Something that was said later has settled it, or it was rejected.
        undecided: It is a proposal that nobody has accepted or rejected.
        record: It is a proposal that was accepted as the record with this number, else 0.
        also: What others have said just so: shown in the same line, by their names.
        earlier: Another memory found says something newer of the same thing.
        weak: It may have little to do with the question: it would not be shown unasked.
    """

    memory_id: str
    pointer: str
    scope_name: str
    preview: str
    who: str
    day: date | None
    relevance: float
    headings: tuple[str, ...] = ()
    quoted: bool = False
    person: str = ""
    unvouched: bool = False
    byline: Byline = Byline()
    closed: bool = False
    undecided: bool = False
    record: int = 0
    also: tuple[Hit, ...] = ()
    earlier: bool = False
    weak: bool = False

    @property
    def is_note(self) -> bool:
        """No speaker said it, and ``headings`` stand above it."""
        return self.memory_id.startswith("n-")


@dataclass(frozen=True, slots=True)
class Considered:
    """One candidate of a recall, without its words: who may see them is asked when it is shown.
    ``terms``: what the score is the sum of, by the names of ``order.FEATURES``."""

    scope_name: str
    memory_id: str
    score: float
    dropped: DropReason | None
    terms: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Trace:
    """How a recall came to its hits, written as it goes.

    Attributes:
        considered: The best candidates, best first.
        notes: What could not answer, and why.
        chance: The probability that any answers, by the ``values``; None for days.
        holding: How many visible memories hold every word of the question, as far as is known.
    """

    scopes: tuple[str, ...] = ()
    arm: Arm = Arm.NONE
    considered: tuple[Considered, ...] = ()
    milliseconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    talk: tuple[Voice, ...] = ()
    chance: float | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    holding: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """One recall as it is kept for a while, with the words of the question, and of no memory: by
    their ids the ``hits`` are looked up when it is shown to a reader, without what was forgotten
    meanwhile or is not to be seen; and, ``instead_of``, whose place such a memory has taken."""

    conversation: str
    query: str
    at: datetime
    trace: Trace
    hits: Mapping[str, Hit] = field(default_factory=dict)
    instead_of: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recall:
    """Hits, best first. Empty when nothing is relevant: that is an answer, too. ``left_out``: how
    many more answer a question for all that lies on some days."""

    hits: tuple[Hit, ...] = ()
    trace: Trace = field(default_factory=Trace)
    left_out: int = 0

    @property
    def unsure(self) -> bool:
        """Something comes near the question, and nothing answers it for certain."""
        return bool(self.trace.considered) and all(hit.weak for hit in self.hits)


@dataclass(frozen=True, slots=True)
class FileText:
    """The lines of a scope's file, or of one in ``shared/``, that the reader may see."""

    path: str
    text: str
    first: int = 1
