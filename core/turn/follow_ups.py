"""What a person says while the bot is still at work on what he said before.

Between two tools AstrBot may put such a message into the turn that goes on: the model reads it, no
turn of its own comes of it, and no hook hears of it. It is said in a finished turn all the same.
"""

from __future__ import annotations

from weakref import WeakValueDictionary

from astrbot.api.event import AstrMessageEvent

from .turn_reader import TurnReader


class FollowUps:
    """Notes each message with the turn of the same person that is going on there; which of them
    AstrBot has put into it is known when that ends."""

    def __init__(self) -> None:
        self._going: WeakValueDictionary[str, AstrMessageEvent] = WeakValueDictionary()

    def begins(self, event: AstrMessageEvent) -> None:
        """The model is asked for this turn."""
        self._going[event.unified_msg_origin] = event

    def comes(self, event: AstrMessageEvent) -> None:
        """A message, before anybody has done anything with it."""
        going = self._going.get(event.unified_msg_origin)
        if going is not None and going is not event:
            TurnReader.note_follow_up(going, event)
