"""What other plugins left on the disk, and what we hold of it until it is in the vault."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from ..errors import ScopedMemoryError
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


@dataclass(frozen=True, slots=True)
class JsonlStore:
    """A store that was read, as the child process wrote it down.

    ``fault`` says why the rest could not be read; it is empty if all was.
    """

    store: FoundStore
    path: Path
    count: int
    fault: str = ""

    def records(self) -> Iterator[Foreign]:
        """Yields all that was read. Blocks."""
        later = self.store.kind is StoreKind.ANGEL_SQLITE
        with self.path.open(encoding="utf-8") as lines:
            for _, line in zip(range(self.count), lines, strict=False):
                row = json.loads(line)
                yield Foreign(
                    self.store.name, str(row["id"]), row["document"], row["fields"], later=later
                )


class LegacyStores(Protocol):
    """Finds and reads them; what is read is a copy. Every method blocks."""

    def find(self) -> Sequence[FoundStore]:
        """Returns all stores that are there; those that know better first."""
        ...

    def scratch(self, *, keep: bool) -> AbstractContextManager[str]:
        """A folder for copies that is gone afterwards: ``keep``, in our own data folder."""
        ...

    def read(self, store: FoundStore, scratch: str) -> JsonlStore:
        """Read a copy of a store, made below ``scratch``. Raises StoreUnreadable."""
        ...

    def give_up(self) -> None:
        """Stop what other threads read: it soon fails there."""
        ...


@dataclass(frozen=True, slots=True)
class StagedBatch:
    """What was read at once. ``done``: all of it is in the vault."""

    batch: str
    stores: tuple[str, ...]
    count: int
    done: bool = False
