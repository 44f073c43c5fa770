"""Walks, and other plugins' records that are walked over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..models.migration import Outcome
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

    async def step(self, ids: Sequence[str]) -> Sequence[Outcome]:
        """Do it to some of them. A broken one is an outcome.

        Raises IndexUnavailable, VaultError, StateUnavailable where nothing can be done just now:
        it is tried again later. Whatever else is raised is some record's fault, and the batch is
        cut in two until that one is alone.
        """
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
