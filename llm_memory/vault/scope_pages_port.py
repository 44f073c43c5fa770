"""Port for a scope's pages, which the bot writes between its marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..models.scope import Scope


@dataclass(frozen=True, slots=True)
class Page:
    """A file as it was read. ``write`` compares its ``stamp``."""

    raw: bytes
    stamp: tuple[int, int, int]


class ScopePages(Protocol):
    """The pages of a scope: MEMORY.md and PRIMER.md."""

    def open(self) -> None:
        """Prepare, after the vault was opened. Raises VaultWriteFailed."""
        ...

    def read(self, scope: Scope, name: str) -> Page | None:
        """Returns None if there is no page. Raises VaultWriteFailed for anything but a plain file
        of ours."""
        ...

    def write(self, scope: Scope, name: str, raw: bytes, read: Page | None) -> bool:
        """Replace the version that was read. Returns False, and writes nothing, if another program
        wrote to the file meanwhile. Raises VaultWriteFailed."""
        ...

    def keep(self, scope: Scope, name: str, raw: bytes, *, most: int) -> None:
        """Keep a former text in ``archive/``, the newest ``most`` of each file. Raises
        VaultWriteFailed."""
        ...
