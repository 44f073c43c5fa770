"""That a chat or a bot account goes on under another name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RebindFault(StrEnum):
    """Why a name is not put in the place of another one."""

    FORM = "form"
    """The two are neither two bot accounts nor two conversations of one kind."""
    SAME = "same"
    OLD_LIVES = "old_lives"
    """The former bot account still exists: its conversations would lose their scopes."""
    NO_ACCOUNT = "no_account"
    """The new name is on no bot account that exists."""
    TAKEN = "taken"
    """The map gives the new name another scope already."""
    NOTHING = "nothing"
    """Nothing is known under the former name."""


@dataclass(frozen=True, slots=True)
class MovedEntry:
    """An entry of the owner's map that got another key: ``written`` is the key as it stood."""

    written: str
    value: str
    key: str


@dataclass(frozen=True, slots=True)
class Rebinding:
    """``old`` and ``new`` are two bot accounts, or the map keys of two conversations.

    Attributes:
        moved: The entries of the owner's map that went along.
        paused: Conversations that were paused because their former name was.
        brought: Former and new scope of memories that were brought along.
        policy: The former account's own policy for private chats, empty for none.
        finished: False until everything has gone along.
    """

    old: str
    new: str
    moved: tuple[MovedEntry, ...] = ()
    paused: tuple[str, ...] = ()
    brought: tuple[tuple[str, str], ...] = ()
    policy: str = ""
    finished: bool = True


@dataclass(frozen=True, slots=True)
class Rebound:
    """What went along: entries of the map, pauses, and memories and queued turns that were brought
    from scopes that a policy had derived. ``left`` memories could not be brought."""

    rebinding: Rebinding
    memories: int = 0
    turns: int = 0
    left: int = 0
