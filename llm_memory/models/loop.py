"""The memory loop: what waits in it, what it costs, how it is doing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, Literal

from .scope import is_mapped_name

UNMAPPED: Final = ""
"""The group of all unmapped conversations together, which is no scope's name."""

type LineName = tuple[str, str, str]
"""Scope, conversation and persona: what is read together."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Turns that are read together: with a ``reply`` that is being stored, or with an ``error`` for
    which they were put aside, a stable code and what the service said."""

    batch_id: str
    scope: str
    conversation: str
    reply: str = ""
    error: str = ""


def group_of(scope: str) -> str:
    """Returns whose use is counted together: that of a mapped scope, and that of all other
    conversations, or else ten private chats under an isolating policy would weigh ten times a
    family."""
    return scope if is_mapped_name(scope) else UNMAPPED


@dataclass(frozen=True, slots=True)
class Share:
    """What a group had of a day: the tokens of the calls that read its turns, and how many of them
    a full queue dropped."""

    group: str
    tokens: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class WaitingLine:
    """Turns of one conversation, scope and persona that wait. ``map_key`` is what the owner's map,
    and a pause, call the conversation by."""

    scope: str
    conversation: str
    persona: str
    count: int
    oldest: datetime
    newest: datetime
    map_key: str = ""
    chars: int = 0

    @property
    def name(self) -> LineName:
        return (self.scope, self.conversation, self.persona)

    @property
    def group(self) -> str:
        return group_of(self.scope)


@dataclass(frozen=True, slots=True)
class QueueSize:
    """Turns that are not read yet, and those that were given up."""

    waiting: int = 0
    dead: int = 0


@dataclass(frozen=True, slots=True)
class Spent:
    """What the loop's calls of the bot's ``day`` have cost."""

    day: date
    calls: int = 0
    failed: int = 0
    tokens: int = 0


type Resting = Literal["", "off", "no_provider", "budget", "backoff", "learning_paused"]
"""Why turns wait although they are due; empty where they do not. Each has a text in the i18n files.
``budget``: what is left of today is too little, or kept for others or for what was said to the bot.
``learning_paused``: the scope filter is switched off."""


@dataclass(slots=True)
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
