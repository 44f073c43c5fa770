"""Whether a group that was never seen goes on for one that the map names. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from .map_keys import account_of

_SILENT: Final = timedelta(days=3)
"""A group of which nothing was heard for so long has fallen silent."""
_LEAST: Final = 2
"""So many of its members have to speak in the new one."""
_TELEGRAM: Final = "telegram"
_SUPERGROUP: Final = "-100"


@dataclass(frozen=True, slots=True)
class KnownGroup:
    """A group with a private scope of its own, as far as it was heard.

    Attributes:
        title: A digest of its title, empty where that is unknown.
        members: The ids of those who have spoken in it.
        heard: The last day on which somebody did.
    """

    key: str
    title: str
    members: frozenset[str]
    heard: date


@dataclass(frozen=True, slots=True)
class NewGroup:
    """A group that nobody maps, and who has spoken in it so far."""

    key: str
    adapter: str
    title: str
    speakers: frozenset[str]


def succeeds(new: NewGroup, known: KnownGroup, today: date) -> bool:
    """True if the title is the same, or members agree: of a Telegram group that became a supergroup
    one is enough, for another group has no reason to; elsewhere most of several, once the known
    group has fallen silent."""
    if account_of(new.key) != account_of(known.key):
        return False
    if new.title and new.title == known.title:
        return True
    shared = new.speakers & known.members
    if new.adapter == _TELEGRAM and _is_supergroup(new.key) and not _is_supergroup(known.key):
        return bool(shared)
    silent = today - known.heard >= _SILENT
    return silent and len(shared) >= _LEAST and _are_most(shared, new.speakers)


def _are_most(shared: Collection[str], speakers: Collection[str]) -> bool:
    return 3 * len(shared) >= 2 * len(speakers)


def _is_supergroup(key: str) -> bool:
    return key.rpartition(":")[2].startswith(_SUPERGROUP)
