"""What was said in a turn, and what was learned from it."""

from __future__ import annotations

from dataclasses import dataclass

from .conversation import Actor
from .data_models import MemoryDraft, RememberOutcome
from .resolution import Why


@dataclass(frozen=True, slots=True)
class Turn:
    """One finished exchange: what the person wrote and what the bot answered."""

    actor: Actor
    user_text: str
    reply_text: str


@dataclass(frozen=True, slots=True)
class Ticket:
    """A turn in the durable queue. Its scope was fixed when it was observed."""

    ticket_id: str


@dataclass(frozen=True, slots=True)
class NotObserved:
    """The conversation learns nothing now, and why."""

    why: Why | None = None


ObserveOutcome = Ticket | NotObserved


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a reader of the turn found: memories that helped, and new ones."""

    useful_ids: tuple[str, ...] = ()
    drafts: tuple[MemoryDraft, ...] = ()


@dataclass(frozen=True, slots=True)
class FeedbackReport:
    """``known`` is False for a ticket that was settled already or whose scope is gone.

    ``counted`` are the useful ids that the turn's scope could see.
    """

    known: bool
    counted: tuple[str, ...] = ()
    outcomes: tuple[RememberOutcome, ...] = ()
