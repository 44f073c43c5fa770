"""Pages of a scope that the bot writes between its marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..models.scope import Scope


@dataclass(frozen=True, slots=True)
class Page:
    """A file as it was read. ``stamp`` is told back when it is written."""

    raw: bytes
    stamp: tuple[int, int, int]


class ScopePages(Protocol):
    """The files of a scope that are no topic files: MEMORY.md and PRIMER.md."""

    def open(self) -> None:
        """Make ready, once the vault is. Raises VaultWriteFailed."""
        ...

    def read(self, scope: Scope, name: str) -> Page | None:
        """None if there is none. Raises VaultWriteFailed for what is no plain file of ours."""
        ...

    def write(self, scope: Scope, name: str, raw: bytes, read: Page | None) -> bool:
        """Put this in the place of what was read; False, and nothing is written, if somebody wrote
        to it meanwhile. Raises VaultWriteFailed."""
        ...

    def keep(self, scope: Scope, name: str, raw: bytes, *, most: int) -> None:
        """A former text, in ``archive/``; of each file the newest so many. Raises
        VaultWriteFailed."""
        ...
