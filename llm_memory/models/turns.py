"""What was said in a turn and just before it, and what was learned from it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from .conversation import Actor
from .data_models import MemoryDraft, Refused, RememberOutcome
from .soul import MannerWish

PAUSED_VIEW = "paused"
"""``Turn.view`` where the conversation was paused: it saw nothing, and the turn is not kept."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One finished exchange.

    Attributes:
        reply_text: Empty where the bot was not addressed and only listened.
        recalled: The ids of the memories that were shown to the model for it; ``stored``: of those
            that tools stored in it.
        said_at: Aware; now, where it is not told.
        view: What ``CognitiveService.view`` told when it began; empty if it was not asked.
        history: The id of the chat history that the model was given.
        forgot: A tool forgot something in it, as its person had asked.
    """

    actor: Actor
    user_text: str
    reply_text: str
    recalled: tuple[str, ...] = ()
    said_at: datetime | None = None
    view: str = ""
    history: str = ""
    stored: tuple[str, ...] = ()
    forgot: bool = False


@dataclass(frozen=True, slots=True)
class QueuedTurn:
    """A turn as it waits on disk: stripped, private data hidden, its scope fixed for good.

    Attributes:
        observed_at: When it was said. Aware, in the bot's time zone.
        person: As ``Actor.person``; ``who`` is the name, ``admin`` the standing then.
        map_key: What the owner's map, and a pause, call the conversation by.
        stored: As of ``Turn``: it is another copy of these memories.
    """

    ticket_id: str
    scope: str
    conversation: str
    persona: str
    observed_at: datetime
    person: str
    who: str
    user_text: str
    reply_text: str
    recalled: tuple[str, ...] = ()
    map_key: str = ""
    admin: bool = False
    stored: tuple[str, ...] = ()
    history: str = ""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A turn in the durable queue, or several of one scope that were read together (``also``)."""

    ticket_id: str
    also: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.ticket_id, *self.also)


ObserveOutcome = Ticket | Refused


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What was remembered is not so any more: ``draft`` says how it is, and ``ticket_id`` in which
    turn it was said, empty if unknown."""

    memory_id: str
    draft: MemoryDraft
    ticket_id: str = ""


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a reader of the turns found. ``useless_ids``: memories that were shown and did not
    belong there. ``manner``: which other manner was asked for; it is counted, and holds no words.
    """

    useful_ids: tuple[str, ...] = ()
    drafts: tuple[MemoryDraft, ...] = ()
    useless_ids: tuple[str, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    manner: tuple[MannerWish, ...] = ()


@dataclass(frozen=True, slots=True)
class FeedbackReport:
    """``known`` is False for a ticket that was settled already or whose scope is gone.
    ``outcomes``: of each draft and contradiction, in this order; ``dropped``: how many ids of the
    feedback the scope does not see, or may not change."""

    known: bool
    outcomes: tuple[RememberOutcome, ...] = ()
    dropped: int = 0


class Voice(StrEnum):
    """Whose words a line is; ``QUOTED``: the message that the asker replies to with the question
    itself, of any author."""

    ASKER = "asker"
    BOT = "bot"
    QUOTED = "quoted"


@dataclass(frozen=True, slots=True)
class ContextLine:
    """One thing that was said before a question. ``view``: that of its time; a line of another view
    than the present one is not used. A quoted message has none: it is put up with the question."""

    voice: Voice
    text: str
    at: datetime
    view: str = ""


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn without what is not to be shown. ``at``: local time without a zone, None where AstrBot
    has noted none."""

    said: str
    replied: str
    who: str
    at: datetime | None
