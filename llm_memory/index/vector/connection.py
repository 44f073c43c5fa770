"""A way to a Chroma: inside our process over a directory, or a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from .collections import Described

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection


_LEAST_REMOVED: Final = 500
"""Fewer deletions are not worth building a collection anew."""


def worn_out(removed: int, living: int) -> bool:
    """More was deleted than lives, and it is worth mending: Chroma only marks what is deleted."""
    return removed > max(living, _LEAST_REMOVED - 1)


class Client(Protocol):
    """What a store asks of Chroma's client, or of what stands in for it."""

    def list_collections(self) -> Sequence[Described]:
        """All that are there, ours or not."""
        ...

    def get_collection(self, name: str, *, embedding_function: None) -> Collection:
        """One that is there."""
        ...

    def create_collection(
        self,
        name: str,
        *,
        configuration: Mapping[str, Any],
        metadata: Mapping[str, str | int],
        embedding_function: None,
    ) -> Collection:
        """A new one; an error if there is one of that name."""
        ...

    def delete_collection(self, name: str) -> None:
        """Everything in it, too."""
        ...


class Connection(Protocol):
    """Not for two threads at once: its store sees to that."""

    @property
    def owner(self) -> str:
        """Who we are where others may store things, too; empty where no other can."""
        ...

    def open(self) -> Client:
        """A working client. Raises IndexUnavailable, and then open may be called again."""
        ...

    @property
    def set_aside(self) -> str:
        """Why the last ``open`` set an earlier index aside; empty if it did not."""
        ...

    def asking(self) -> None:
        """Called before each question. Raises IndexUnavailable: ``busy``, another process would
        have us wait."""
        ...

    def writing(self, size: int) -> None:
        """Called before each write of about ``size`` bytes. Raises IndexFull."""
        ...

    def removed(self, count: int) -> None:
        """Called after ``count`` records were deleted."""
        ...

    def worn(self, living: int) -> bool:
        """Deletions outnumber the living, of whom there are so many."""
        ...

    def discard(self, reason: str) -> None:
        """Give up what is stored. Only while closed."""
        ...

    def clear(self) -> None:
        """Delete what is stored on our own disk, unopened. Only while closed."""
        ...

    def close(self) -> None:
        """Free what open took. Idempotent."""
        ...
