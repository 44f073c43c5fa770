"""The memory loop: what waits in it, what it costs, how it is doing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Final

from .scope import is_mapped_name

UNMAPPED: Final = ""
"""The group of all unmapped conversations together, which is no scope's name."""


class BatchState(StrEnum):
    """How far turns that are read together have come."""

    OPEN = "open"
    """To be read, or being read."""
    ANSWERED = "answered"
    """The model's answer is kept; what it says is being stored."""
    DEAD = "dead"
    """Given up; its turns are kept, and may be tried again."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Turns of one conversation, scope and persona that are read together.

    Attributes:
        reply: The model's answer as it came, empty until it is there.
        attempts: Calls that gave nothing that could be used.
        error: What was wrong with the last of them: a stable code and what the service said.
    """

    batch_id: str
    scope: str
    conversation: str
    persona: str
    made_at: datetime
    state: BatchState = BatchState.OPEN
    reply: str = ""
    attempts: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Party:
    """Who holds places in the queue: one speaker in one scope.

    Attributes:
        speaker: ``<adapter>:<id>``; the conversation where the platform names no sender.
        known: An admin, or a speaker in a scope of the owner's map. All others are strangers.
    """

    scope: str
    speaker: str
    known: bool

    @classmethod
    def of(cls, scope: str, person: str, conversation: str, *, admin: bool) -> Party:
        """The party of a turn."""
        return cls(scope, person or conversation, admin or is_mapped_name(scope))

    @property
    def group(self) -> str:
        """The parties whose use is counted together: those of a scope, and all strangers, or else
        ten private chats under an isolating policy would weigh ten times a family."""
        return self.scope if self.known else UNMAPPED


@dataclass(frozen=True, slots=True)
class Share:
    """What a group had of a day.

    Attributes:
        group: A scope, or ``UNMAPPED``.
        tokens: Tokens of the calls that read its turns.
        dropped: Its turns that a full queue dropped before they were read.
    """

    group: str
    tokens: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class WaitingLine:
    """Turns of one conversation, scope and persona that are in no batch yet. ``map_key`` is what
    the owner's map, and a pause, call the conversation by; ``groups`` are those of its speakers,
    two where an admin speaks in an unmapped conversation; ``chars`` is how much was said and
    answered."""

    scope: str
    conversation: str
    persona: str
    count: int
    oldest: datetime
    newest: datetime
    map_key: str = ""
    groups: tuple[str, ...] = ()
    chars: int = 0

    @property
    def name(self) -> tuple[str, str, str]:
        """Tells it from every other line."""
        return (self.scope, self.conversation, self.persona)


@dataclass(frozen=True, slots=True)
class QueueSize:
    """Turns that are not read yet, by how far they are.

    Attributes:
        waiting: To be read, those of open and answered batches included.
        dead: Given up.
        oldest: When the oldest of those that wait was said.
    """

    waiting: int = 0
    dead: int = 0
    oldest: datetime | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """What the loop's calls of a day have cost. ``day`` is local to the bot."""

    day: date
    calls: int = 0
    failed: int = 0
    tokens: int = 0


class Resting(StrEnum):
    """Why turns wait although they are due. Each has a text in the i18n files."""

    NO = ""
    OFF = "off"
    """The owner has switched reading off."""
    NO_PROVIDER = "no_provider"
    BUDGET = "budget"
    """Today's tokens are spent."""
    OVERHEARD = "overheard"
    """Half of today's tokens are spent; what is left is for turns that were said to the bot."""
    SHARE = "share"
    """What is left of today's tokens is kept for other groups than those who wait."""
    BACKOFF = "backoff"
    """Calls failed; the next one is made later."""
    PAUSED_LEARNING = "learning_paused"
    """The scope filter is switched off."""


@dataclass(frozen=True, slots=True)
class ReflectionReport:
    """What came of reading what was due.

    Attributes:
        read: Turns that were read, and what they taught is stored.
        stored: New memories, those that took another's place included.
        dropped: Ids of the answers that the turns' scope does not see, or may not change.
        dead: Batches that were given up.
        waiting: Turns that are still to be read, of those that were asked for.
        resting: Why they wait.
        error: What went wrong, empty for nothing.
    """

    read: int = 0
    stored: int = 0
    dropped: int = 0
    dead: int = 0
    waiting: int = 0
    resting: Resting = Resting.NO
    error: str = ""


@dataclass(frozen=True, slots=True)
class Letter:
    """Turns that were given up: how many, of which conversation, and why. None of their words."""

    batch_id: str
    conversation: str
    count: int
    made_at: datetime
    error: str


@dataclass(frozen=True, slots=True)
class LoopStatus:
    """How the loop is doing. It names no words; ``shares`` names scopes.

    Attributes:
        provider: Who reads the turns: a provider's id, ``auto``, empty for none.
        budget: Tokens a day, 0 for none.
        error: What went wrong last, empty once something went right.
        paused: Conversations that are off the record.
        slept_at: When the last consolidation ended.
        shares: What each group had of today, the largest use first.
        unasked: Memories for which a night is still to write questions; 0 where no model reads.
        sleeping: One is going on.
        next_sleep: When the next is due, None where none is scheduled.
    """

    provider: str = ""
    resting: Resting = Resting.NO
    queue: QueueSize = QueueSize()
    spent: Spent | None = None
    budget: int = 0
    error: str = ""
    paused: int = 0
    slept_at: datetime | None = None
    sleeping: bool = False
    next_sleep: datetime | None = None
    shares: tuple[Share, ...] = ()
    unasked: int = 0
