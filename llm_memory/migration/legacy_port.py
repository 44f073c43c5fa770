"""What other plugins left on the disk, and what we hold of it until it is in the vault."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from ..errors import ScopedMemoryError
from ..index.embedding.ports import Vector
from ..models.data_models import Memory
from .rules.legacy_plan import Plan, Planned
from .rules.legacy_records import Foreign


class StoreKind(StrEnum):
    """Whose store it is, and how it is kept."""

    ANGEL_CHROMA = "angel_chroma"
    ANGEL_SQLITE = "angel_sqlite"
    LIVING = "living"


@dataclass(frozen=True, slots=True)
class FoundStore:
    """A store of another plugin.

    Attributes:
        name: The same at each start; names records apart, and tells the owner which it is.
        mark: Changes when it is written to.
        place: Where it stands, for the one who found it.
    """

    name: str
    kind: StoreKind
    mark: str
    place: str


class StoreUnreadable(ScopedMemoryError):
    """A store that cannot be read now. ``code`` is stable: ``full``, ``changing``, ``unreadable``,
    ``native`` where a process of ours cannot be started or dies."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class ReadStore(Protocol):
    """A store that was read."""

    @property
    def store(self) -> FoundStore:
        """Which it is."""
        ...

    @property
    def fault(self) -> str:
        """Why the rest could not be read; empty if all was."""
        ...

    def records(self) -> Iterator[Foreign]:
        """All that was read. Blocks."""
        ...


class LegacyStores(Protocol):
    """Finds and reads them; what is read is a copy. Every method blocks."""

    def find(self) -> Sequence[FoundStore]:
        """All that are there; those that know better first."""
        ...

    def scratch(self, *, keep: bool) -> AbstractContextManager[str]:
        """A folder for copies that is gone afterwards: ``keep``, in our own data folder, from where
        vectors can be kept."""
        ...

    def read(self, store: FoundStore, scratch: str) -> ReadStore:
        """Raises StoreUnreadable."""
        ...

    def give_up(self) -> None:
        """What other threads read now is given up: it soon fails there."""
        ...


@dataclass(frozen=True, slots=True)
class StagedBatch:
    """What was read at once. ``done``: all of it is in the vault."""

    batch: str
    stores: tuple[str, ...]
    count: int
    done: bool = False


@dataclass(frozen=True, slots=True)
class StagedVector:
    """A vector that another plugin made of ``text``; ``store`` is the one that it stood in."""

    store: str
    text: str
    vector: Vector


class Staging(Protocol):
    """What was read and planned, durable: each memory with its scope. Every method blocks and may
    raise StateUnavailable."""

    def seen(self) -> Mapping[str, str]:
        """The marks of the stores that were read, by name."""
        ...

    def note_seen(self, stores: Iterable[FoundStore]) -> None:
        """They were read, and what is new in them is staged."""
        ...

    def batches(self) -> Sequence[StagedBatch]:
        """All, the oldest first."""
        ...

    def stage(
        self,
        batch: str,
        plan: Plan,
        read: Sequence[ReadStore],
        *,
        source_of: Callable[[str], tuple[ReadStore, str]],
        broken: Iterable[tuple[Planned, Foreign]],
    ) -> None:
        """Keep all of a plan, or nothing. ``source_of``: the store of a planned record, and how
        that calls it; ``broken`` are kept as they were read."""
        ...

    def ids(self, batch: str) -> Sequence[str]:
        """Of the planned records."""
        ...

    def planned(self, batch: str) -> Sequence[Planned]:
        """What becomes of each of them; known for good."""
        ...

    def rows(
        self, batch: str, record_ids: Collection[str]
    ) -> Sequence[tuple[Planned, Memory | None]]:
        """Some planned records with their memories: none for a broken one, or after ``finish``."""
        ...

    def vectors(self, batch: str, key: tuple[str, str], dim: int) -> Sequence[StagedVector]:
        """Of a memory, by scope and id: those with so many numbers."""
        ...

    def samples(self, batch: str, dim: int, count: int) -> Mapping[str, Sequence[StagedVector]]:
        """Of each store some such vectors, from all over: about ``count``."""
        ...

    def finish(self, batch: str) -> None:
        """All of it is in the vault: let go of the words, but for what is broken. Which records
        there were stays known."""
        ...

    def has_vectors(self, batch: str) -> bool:
        """Whether some are kept."""
        ...

    def drop_vectors(self, batch: str) -> None:
        """They are where they are of use, or of no use."""
        ...

    def place(self, batch: str) -> str:
        """Where its broken records stand, for people."""
        ...

    def close(self) -> None:
        """Let go of files. Idempotent."""
        ...
