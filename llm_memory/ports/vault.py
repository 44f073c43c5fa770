"""The Markdown tree."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ..models.conversation import Actor
from ..models.data_models import Memory, StoredMemory, Topic
from ..models.scope import Scope


@dataclass(frozen=True, slots=True)
class FileReport:
    """A file of the vault that was left alone. ``reason`` is a stable code, ``scope`` its scope."""

    scope: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class VaultContent:
    """What a reading of the vault found."""

    memories: tuple[StoredMemory, ...]
    broken: tuple[FileReport, ...] = ()


class Vault(Protocol):
    """The Markdown tree: the truth. Every method blocks."""

    def open(self) -> None:
        """Make the tree. Raises VaultWriteFailed."""
        ...

    def scopes(self) -> tuple[Scope, ...]:
        """The scopes that have a folder."""
        ...

    def strays(self) -> tuple[FileReport, ...]:
        """Folders whose name is no legal scope: left alone, read by nobody."""
        ...

    def ensure(self, scope: Scope) -> None:
        """Make the scope's folder. Raises VaultWriteFailed."""
        ...

    def read(self, scope: Scope) -> VaultContent:
        """All recallable entries of a scope."""
        ...

    def append(self, scope: Scope, topic: Topic, memory: Memory) -> StoredMemory:
        """Write and fsync. Raises VaultWriteFailed, and then nothing was changed."""
        ...

    def current(self, stored: StoredMemory) -> StoredMemory | None:
        """The entry as a person may have left it by now, None if it is gone.

        Raises VaultWriteFailed if its file cannot be read just now.
        """
        ...

    def replace(self, stored: StoredMemory, memory: Memory) -> StoredMemory:
        """Rewrite one entry in place. Raises VaultWriteFailed, KeyError if it is gone."""
        ...

    def archive(self, stored: StoredMemory, *, by: Actor, at: datetime) -> str:
        """Move an entry to ``archive/``; the archive's path inside the scope.

        Raises VaultWriteFailed, KeyError if a person has taken the entry out.
        """
        ...

    def archived(self, scope: Scope, memory_id: str) -> Memory | None:
        """A forgotten entry of the scope, None if there is none."""
        ...

    def restore(self, scope: Scope, memory_id: str) -> StoredMemory | None:
        """Bring an archived entry back to the file it came from; None if there is none."""
        ...
