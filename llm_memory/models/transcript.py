"""The talk that a memory came from, as it may be shown, or why there is none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

type KeptHistory = Callable[[str, str], Awaitable[str | None]]
"""From a conversation's umo and the id of a chat history to that history, JSON text as AstrBot
keeps it; None where the conversation has none of that id. May raise what its database raises."""


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn without what is not to be shown.

    Attributes:
        who: The speaker's name, empty where it is unknown.
        at: Local time without a zone, None where AstrBot has noted none.
        origin: The memory came from this turn; else it stood beside that one.
    """

    said: str
    replied: str
    who: str = ""
    at: datetime | None = None
    origin: bool = False


@dataclass(frozen=True, slots=True)
class Transcript:
    """The turns, the earliest first. ``alone``: the turns beside are kept back, for some may have
    been said off the record."""

    turns: tuple[ShownTurn, ...]
    alone: bool = False


class NoTalk(StrEnum):
    """Why there is no transcript. Each has a text in the i18n files."""

    NEVER_KEPT = "never_kept"
    """It is not noted in which talk it was said."""
    GONE = "gone"
    """AstrBot does not have the talk any more, or not this part of it."""
    ELSEWHERE = "elsewhere"
    """It was said in another conversation."""
    OTHER_SCOPE = "other_scope"
    """The conversation had another scope, so the talk may hold words of that one."""
