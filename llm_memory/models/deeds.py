"""The journal of deeds: what people did to memories, and so what stays corrected."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from .conversation import Actor
from .scope import PUBLIC

NO_TIME: Final = datetime.fromtimestamp(0, UTC)


class DeedKind(StrEnum):
    """What was done. The value is how it is stored."""

    FORGOTTEN = "forgotten"
    EDITED = "edited"
    MOVED = "moved"
    TAKEN_BACK = "taken_back"
    """Its speaker has said that it is so no more. The day on which it was so may be told."""
    AMENDED = "amended"
    """Changed, and not because it was wrong: its former words may come back."""
    REPLACED = "replaced"
    """By what its speaker said anew."""
    BROUGHT = "brought"
    """Many at once: ``migration.sqlite`` tells what is in it."""
    PURGED = "purged"
    """To be deleted for good: until the night its words are still needed."""


CORRECTIONS: Final = frozenset(
    {DeedKind.FORGOTTEN, DeedKind.EDITED, DeedKind.MOVED, DeedKind.TAKEN_BACK}
)


@dataclass(frozen=True, slots=True)
class Requester:
    """The actor of a change, and the conversation."""

    actor: Actor
    conversation: str

    @property
    def name(self) -> str:
        return self.actor.name or self.actor.person


@dataclass(frozen=True, slots=True)
class Deed:
    """One row of the journal. Of ``CORRECTIONS`` nothing said before ``at`` brings the words back.

    Attributes:
        scope: Where the entry stood; ``target``: to which it was moved.
        memory_id: Of the entry, its keyed hash once that was purged; of what was brought the batch.
        words: What it said. Empty once it was purged: then ``marks`` are what it is known by, keyed
            hashes of the statement and of its clauses.
        said_at: The days that its words name are counted from there.
        person: Who had said it; ``who`` is the name.
        by: The name of who did it, ``actor`` the account, ``door`` the conversation.
        before: Of a replacement, the id of the former entry.
        after: Digest of what the deed left: where something else stands since, no undo.
        batch: Deeds that an undo takes back together.
        number: Given by the store; it rises.
    """

    kind: DeedKind
    scope: str
    memory_id: str
    words: str = ""
    said_at: datetime = NO_TIME
    at: datetime = NO_TIME
    person: str = ""
    who: str = ""
    target: str = ""
    by: str = ""
    marks: tuple[str, ...] = ()
    actor: str = ""
    door: str = ""
    before: str = ""
    after: str = ""
    batch: str = ""
    undoable: bool = False
    number: int = 0

    @property
    def names(self) -> frozenset[str]:
        return frozenset((self.memory_id, self.before))

    @property
    def places(self) -> tuple[str, ...]:
        """The scopes to which its words may not return. A moved statement is in its new scope
        already, and was not meant for all."""
        moved = (self.target, PUBLIC.name) if self.kind is DeedKind.MOVED else ()
        return tuple(dict.fromkeys((self.scope, *moved))) if self.kind in CORRECTIONS else ()

    @property
    def hidden_in(self) -> tuple[str, ...]:
        """The scopes whose readers are told nothing of it: not the one that it was moved to, and
        what its speaker retracted later may be told of its day."""
        told = self.kind is DeedKind.TAKEN_BACK
        return () if told else tuple(place for place in self.places if place != self.target)

    @property
    def stands_in(self) -> str:
        return self.target or self.scope

    @property
    def is_hand_edit(self) -> bool:
        """True for words that a person overwrote in a file: the name is unknown."""
        return self.kind is DeedKind.EDITED and not self.by
