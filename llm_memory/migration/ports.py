"""Other plugins' records, and what is remembered about walking over them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..models.key import Key
from ..models.migration import Added, Before, DeadLetter, Job, Outcome, Tally, WalkBatch
from ..models.scope import ScopeFilter


class Walk(Protocol):
    """Something to be done to each record of a source. A step may be repeated: what it did before
    it finds done."""

    @property
    def name(self) -> str:
        """The name of its job in the store."""
        ...

    async def list(self) -> Sequence[str]:
        """The ids of what is left, looked up anew. May raise what ``step`` may."""
        ...

    async def step(self, ids: Sequence[str]) -> WalkBatch:
        """Do it to some of them. A broken one is an outcome.

        Raises IndexUnavailable, VaultError, StateUnavailable where nothing can be done just now:
        it is tried again later. Whatever else is raised is some record's fault, and the batch is
        cut in two until that one is alone.
        """
        ...


class MigrationStore(Protocol):
    """What must outlive a crash of a walk. Every method blocks and may raise StateUnavailable.

    Nothing is made on the disk before there is something to keep.
    """

    def open(self) -> bool:
        """Make ready. False if the old file was unusable and was set aside."""
        ...

    def jobs(self) -> tuple[Job, ...]:
        """All that ever were begun, the oldest first."""
        ...

    def put_job(self, job: Job) -> None:
        """Add, or replace by name."""
        ...

    def note_outcomes(self, job: str, outcomes: Sequence[Outcome]) -> None:
        """Keep outcomes; of one record the last counts."""
        ...

    def forget_outcomes(self, job: str, record_ids: Collection[str] | None = None) -> None:
        """Forget outcomes, of these records or of all, as if they had not been looked at."""
        ...

    def ids_with_outcome(self, job: str) -> frozenset[str]:
        """The ids of the records that have an outcome."""
        ...

    def tally(self, job: str) -> Tally:
        """What became of a job's records."""
        ...

    def dead_letters(self, job: str, limit: int) -> tuple[DeadLetter, ...]:
        """The broken and the quarantined, at most so many."""
        ...

    def keep_before(self, job: str, before: Sequence[Before]) -> None:
        """Note how records were. Of one record the last note counts."""
        ...

    def before(self, job: str, record_ids: Collection[str] | None = None) -> tuple[Before, ...]:
        """How records were before they were touched: those named, or all."""
        ...

    def drop_before(self, job: str, record_ids: Collection[str]) -> None:
        """They are as they were again."""
        ...

    def keep_added(self, batch: str, added: Sequence[Added]) -> None:
        """Note what is about to enter the vault. What stands there already stays as it is noted."""
        ...

    def added(self, batch: str, memory_ids: Collection[str] | None = None) -> tuple[Added, ...]:
        """What a batch brought into the vault: of the memories named, or all."""
        ...

    def mark_taken_back(self, batch: str, keys: Collection[Key]) -> None:
        """These are in the archive now: ``added`` tells of them with an empty digest."""
        ...

    def renew_added(self, batch: str, added: Sequence[Added]) -> None:
        """These are back, with these digests."""
        ...

    def close(self) -> None:
        """Give back the file. Idempotent."""
        ...


type Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class ForeignRecord:
    """A record as it stands in its collection: unchecked, and its metadata may be missing."""

    record_id: str
    document: str | None
    metadata: Mapping[str, object] | None


class ForeignCollection(Protocol):
    """A pre-scope plugin's collection. Nothing in it is ever deleted, and no vector touched.

    Every method blocks and may raise IndexUnavailable.
    """

    @property
    def label(self) -> str:
        """For people: what is asked for, whether or not it is there."""
        ...

    def open(self) -> str:
        """Connect. The collection's own id, which it keeps for good; empty where there is none."""
        ...

    def count(self) -> int:
        """How many records it holds."""
        ...

    def page(self, offset: int, limit: int) -> Sequence[ForeignRecord]:
        """Some records, in the order of storage."""
        ...

    def read(self, record_ids: Sequence[str]) -> Sequence[ForeignRecord]:
        """Those of the named ones that are there, now."""
        ...

    def search(
        self, words: Sequence[str], scope_filter: ScopeFilter, limit: int
    ) -> Sequence[ForeignRecord]:
        """Records whose document holds one of the words, **unchecked**: the filter only spares
        what it can."""
        ...

    def change(
        self,
        record_ids: Sequence[str],
        decide: Callable[[Sequence[ForeignRecord]], Mapping[str, Mapping[str, Value | None]]],
    ) -> None:
        """Read records again and write what ``decide`` makes of them, under the writer's lock.

        Args:
            decide: Metadata by id, merged key by key; None removes a key. It may keep notes
                before it returns: nothing is written until then.
        """
        ...

    def close(self) -> None:
        """Let go of the connection. Idempotent; ``open`` may be called again."""
        ...
