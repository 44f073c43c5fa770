"""The memory loop: what waits in it, what it costs, how it is doing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, Literal

from .scope import is_mapped_name

UNMAPPED: Final = ""
"""The group of all unmapped conversations together, which is no scope's name."""

type BatchState = Literal["open", "answered", "dead"]
"""Of an answered batch the reply is kept, and is being stored; the turns of a dead one are kept,
and may be tried again."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Turns that are read together. ``attempts`` gave nothing that could be used; ``error`` is a
    stable code and what the service said."""

    batch_id: str
    scope: str
    conversation: str
    persona: str
    made_at: datetime
    state: BatchState = "open"
    reply: str = ""
    attempts: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Party:
    """Who holds places in the queue: a speaker in a scope, or the conversation where the platform
    names none. ``known``: an admin, or in a scope of the owner's map."""

    scope: str
    speaker: str
    known: bool

    @classmethod
    def of(cls, scope: str, person: str, conversation: str, *, admin: bool) -> Party:
        return cls(scope, person or conversation, admin or is_mapped_name(scope))

    @property
    def group(self) -> str:
        """The parties whose use is counted together: those of a scope, and all strangers, or else
        ten private chats under an isolating policy would weigh ten times a family."""
        return self.scope if self.known else UNMAPPED


@dataclass(frozen=True, slots=True)
class Share:
    """What a group had of a day: the tokens of the calls that read its turns, and how many of them
    a full queue dropped."""

    group: str
    tokens: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class WaitingLine:
    """Turns of one conversation, scope and persona that are in no batch yet. ``map_key`` is what
    the owner's map, and a pause, call the conversation by; ``groups`` are those of its speakers,
    two where an admin speaks in an unmapped conversation."""

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
        return (self.scope, self.conversation, self.persona)


@dataclass(frozen=True, slots=True)
class QueueSize:
    """Turns that are not read yet, those of open and answered batches included, and since when the
    oldest waits; and those that were given up."""

    waiting: int = 0
    dead: int = 0
    oldest: datetime | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """What the loop's calls of the bot's ``day`` have cost."""

    day: date
    calls: int = 0
    failed: int = 0
    tokens: int = 0


type Resting = Literal[
    "", "off", "no_provider", "budget", "overheard", "share", "backoff", "learning_paused"
]
"""Why turns wait although they are due; empty where they do not. Each has a text in the i18n files.
``overheard``: half of today's tokens are spent, and what is left is for turns that were said to the
bot. ``share``: it is kept for other groups than those who wait. ``learning_paused``: the scope
filter is switched off."""


@dataclass(frozen=True, slots=True)
class ReflectionReport:
    """What came of reading what was due: turns that were read, memories that were stored, ids of
    the answers that were ``dropped`` because the turns' scope does not see them or may not change
    them, batches that were given up; and how many of the turns still wait, and why."""

    read: int = 0
    stored: int = 0
    dropped: int = 0
    dead: int = 0
    waiting: int = 0
    resting: Resting = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class LoopStatus:
    """How the loop is doing. It names no words; ``shares`` names scopes, the largest use of today
    first. ``provider`` reads the turns: its id, ``auto``, empty for none. ``error`` is empty once
    something went right; ``paused`` conversations are off the record."""

    provider: str = ""
    resting: Resting = ""
    queue: QueueSize = QueueSize()
    spent: Spent | None = None
    budget: int = 0
    error: str = ""
    paused: int = 0
    slept_at: datetime | None = None
    sleeping: bool = False
    next_sleep: datetime | None = None
    shares: tuple[Share, ...] = ()
