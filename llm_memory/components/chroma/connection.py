"""A way to a Chroma: inside our process over a directory, or a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from chromadb.api import ClientAPI


class Connection(Protocol):
    """Not for two threads at once: its store sees to that."""

    @property
    def owner(self) -> str:
        """Who we are where others may store things, too; empty where nobody else can."""
        ...

    def open(self) -> ClientAPI:
        """A working client. Raises IndexUnavailable, and then open may be called again."""
        ...

    @property
    def set_aside(self) -> str:
        """Why the last ``open`` set an earlier index aside; empty if it did not."""
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

    def settled(self) -> None:
        """Called when nothing was written for a while: what is stored now is sound."""
        ...

    def doubted(self) -> None:
        """Called after a fault: what is stored may be unsound, look before it is opened again."""
        ...

    def discard(self, reason: str) -> None:
        """Give up what is stored. Only while closed."""
        ...

    def close(self) -> None:
        """Free what open took. Idempotent."""
        ...
