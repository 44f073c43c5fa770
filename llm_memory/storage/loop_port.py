"""What the memory loop keeps on disk. Every method blocks, and raises StateUnavailable."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol

from ..models.key import Key
from ..models.loop import Batch, Party, PauseMark, QueueSize, Spent, Use, WaitingLine
from ..models.turns import QueuedTurn


class LoopFile(Protocol):
    """The file that all of it stands in."""

    def open(self) -> bool:
        """Make ready. False if the old file was unusable and was set aside for a new one."""
        ...

    def checkpoint_wal(self) -> None:
        """Leave no former row in any file. Raises StateUnavailable."""
        ...

    def close(self) -> None:
        """Give the file back. Idempotent."""
        ...


class TurnStore(Protocol):
    """Finished turns until they are read."""

    def put(self, turn: QueuedTurn) -> None:
        """Queue a turn. On disk when it returns. One that is there already is ignored."""
        ...

    def put_instead(self, turn: QueuedTurn, party: Party, *, day: date) -> bool:
        """Queue a turn in the place of the party's oldest unread one, or else of its oldest, and
        count that among what gave way that day: all at once. False, and nothing is done, where all
        of the party's turns are being read."""
        ...

    def held(self, *, unread: bool = False) -> Mapping[Party, int]:
        """How many turns there are of each party; ``unread``: of those that are still to be
        read."""
        ...

    def turns(self, ticket_ids: Collection[str]) -> list[QueuedTurn]:
        """Those that are still to be read, in a batch or not, in the order in which they came."""
        ...

    def lines(self, *, addressed: bool = False) -> list[WaitingLine]:
        """What waits and is in no batch yet, the oldest line first. ``addressed``: of turns
        that were said to the bot, in private or answered by it, as if there were no others."""
        ...

    def waiting(
        self,
        line: WaitingLine,
        limit: int,
        *,
        addressed: bool = False,
        speakers: Collection[str] = (),
    ) -> list[QueuedTurn]:
        """The first turns of a line, or of those in it that were said to the bot, or by some of
        its speakers: of each as many as of any other, in the order in which they came."""
        ...

    def unread(self, limit: int) -> list[tuple[str, str]]:
        """Ticket and scope of the newest turns that are to be read, but for what was given up."""
        ...

    def make_batch(self, batch: Batch, ticket_ids: Collection[str]) -> None:
        """Read these together from now on."""
        ...

    def put_batch(self, batch: Batch) -> None:
        """How a batch is doing now. An unknown one is ignored."""
        ...

    def batches(self) -> list[Batch]:
        """All of them, the oldest first."""
        ...

    def of_batch(self, batch_id: str) -> list[QueuedTurn]:
        """The turns of a batch, in the order in which they came."""
        ...

    def of_scope(self, scope: str) -> list[QueuedTurn]:
        """Every turn of a scope, read or not, in a batch or not."""
        ...

    def reword(self, turns: Sequence[QueuedTurn]) -> None:
        """Put these texts in the place of what was said and answered. Unknown ones are ignored."""
        ...

    def scopes(self) -> frozenset[str]:
        """The scopes of all turns, read or not."""
        ...

    def tickets(self, scope: str, conversations: Collection[str]) -> list[str]:
        """The turns of a scope, read or not, that were said in one of the conversations: by their
        id, or by what the owner's map calls them by."""
        ...

    def rescope(self, ticket_ids: Collection[str], source: str, target: str) -> list[str]:
        """These turns belong to another scope from now on, and so does what they are read in: those
        that changed. A turn that is read together with one that is not named stays. All at once,
        or nothing."""
        ...

    def drop(self, ticket_ids: Collection[str]) -> None:
        """Turns that are needed no more: what they taught stands in the vault, or they were given
        up. Unknown ones are ignored. A batch without turns goes with them. All at once, or
        nothing."""
        ...

    def drop_read(self) -> None:
        """Turns that were read, which an earlier version kept for the journal of their day."""
        ...

    def count(self) -> int:
        """How many there are, read or not. Cheap: it is asked before each ``put``."""
        ...

    def size(self) -> QueueSize:
        """How many there are, by how far they are."""
        ...


@dataclass(frozen=True, slots=True)
class Evidence:
    """How a memory served in its own scope since it was last weighed."""

    key: Key
    useful: int
    useless: int


class PauseMarks(Protocol):
    """A mark of the pauses that does not lie where the book lies. Both block."""

    def read(self) -> PauseMark | None:
        """The mark; None for none, or for one that cannot be read."""
        ...

    def write(self, mark: PauseMark) -> None:
        """On disk when it returns. Raises VaultWriteFailed."""
        ...


class LoopBook(Protocol):
    """Small facts of the loop: costs, pauses, who came when, how memories served."""

    def spend(
        self,
        day: date,
        *,
        tokens: int,
        failed: bool = False,
        parts: Mapping[Party, int] | None = None,
    ) -> None:
        """One more call, and what it cost each of the parties that it was made for."""
        ...

    def used(self, day: date) -> Mapping[Party, Use]:
        """What each party used of a day; nothing is kept of days before the last."""
        ...

    def spent(self, day: date) -> Spent:
        """All calls of a day."""
        ...

    def pause(self, conversation: str, scope: str, *, at: datetime) -> None:
        """Off the record from now on. Idempotent."""
        ...

    def resume(self, conversation: str) -> bool:
        """On it again; False if it was not paused."""
        ...

    def paused(self) -> Mapping[str, datetime]:
        """Conversations that are off the record, and since when."""
        ...

    def paused_scopes(self) -> Mapping[str, str]:
        """The same with their scopes."""
        ...

    def pause_generation(self) -> int:
        """How often ``pause`` and ``resume`` changed something, or what it was set to."""
        ...

    def set_pause_generation(self, number: int) -> None:
        """Count on from here."""
        ...

    def see(self, conversation: str, scope: str, *, at: datetime) -> datetime | None:
        """A turn begins; when the one before began, None for the first."""
        ...

    def count_evidence(self, useful: Sequence[Key], useless: Sequence[Key]) -> None:
        """One more of each, in the memories' own scope."""
        ...

    def evidence(self, scope: str) -> list[Evidence]:
        """What was counted for memories of a scope."""
        ...

    def drop_evidence(self, weighed: Collection[Evidence]) -> None:
        """Take off what was weighed; what was counted since then stays."""
        ...

    def fact(self, name: str) -> str:
        """A value kept under a name, empty for none. No person's words are kept here."""
        ...

    def put_fact(self, name: str, value: str) -> None:
        """Keep it."""
        ...
