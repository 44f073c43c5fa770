"""What was said just before a question, and what part of it a recall used."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Voice(StrEnum):
    """Whose words a line is."""

    ASKER = "asker"
    BOT = "bot"
    """Its answer to the asker."""
    QUOTED = "quoted"
    """The message that the asker replies to with the question itself, of any author."""


@dataclass(frozen=True, slots=True)
class ContextLine:
    """One thing that was said before a question.

    Attributes:
        at: When.
        view: ``CognitiveService.view`` of that time: a line of another view than the present one
            is not used. A quoted message has none, for it is put up with the question.
    """

    voice: Voice
    text: str
    at: datetime
    view: str = ""


@dataclass(frozen=True, slots=True)
class TalkUsed:
    """What a recall took from the talk. It holds no words.

    Attributes:
        voices: Whose words were used, each once.
        carried: The question had no subject of its own: the talk was what was asked for.
    """

    voices: tuple[Voice, ...] = ()
    carried: bool = False


NO_TALK = TalkUsed()
