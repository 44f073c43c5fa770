"""What the plugin notes of a turn with its event: gone with it, and no other turn sees it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypedDict

from astrbot.api.event import AstrMessageEvent

_NOTES = "scoped_memory_notes"


class TurnNotes(TypedDict, total=False):
    """A plain dictionary: another load of the plugin may read it.

    Attributes:
        conversation: Where it is, and the reader that found that.
        began: When its request to the model did.
        view: What the conversation could see when the event came, or when its turn began,
            whichever was noted first.
        history: The id of the chat history that the model is given, empty where it is given none.
        recalled: The memories that the model was shown.
        stored: The memories that tools stored.
        forgot: Those that tools have forgotten.
        follow_ups: What its speaker said more while it went on.
    """

    conversation: tuple[object, Any]
    began: datetime
    view: str
    history: str
    recalled: tuple[str, ...]
    stored: tuple[str, ...]
    forgot: tuple[str, ...]
    follow_ups: list[AstrMessageEvent]
    injected: bool
    answered: bool
    taken: bool


def notes_of(event: AstrMessageEvent) -> TurnNotes:
    """Returns the notes of an event's turn, to be read and changed."""
    notes: TurnNotes | None = event.get_extra(_NOTES)
    if notes is None:
        event.set_extra(_NOTES, notes := TurnNotes())
    return notes


def is_first(event: AstrMessageEvent, what: Literal["injected", "answered", "taken"]) -> bool:
    """Returns True for the first caller in a turn, False afterwards."""
    notes = notes_of(event)
    before = notes.get(what, False)
    notes[what] = True
    return not before
