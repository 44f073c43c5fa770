"""Port for the Markdown tree."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ..errors import VaultWriteFailed
from ..models.conversation import Actor
from ..models.data_models import Memory, StoredMemory, Topic
from ..models.scope import Scope
from .ledger_port import EntryLedger
from .models import FileKey, KnownEntry, KnownFile, RemovedEntry, Repair, SeenFile


class PartlyWritten(VaultWriteFailed):
    """Of a batch only ``written`` is in the vault; the rest was not written."""

    def __init__(self, message: str, written: Sequence[StoredMemory]) -> None:
        super().__init__(message)
        self.written = tuple(written)


@dataclass(frozen=True, slots=True)
class FileReport:
    """A file of the vault that was skipped. ``reason`` is a stable code, ``scope`` its scope."""

    scope: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class VaultContent:
    """The result of reading the vault."""

    memories: tuple[StoredMemory, ...]
    broken: tuple[FileReport, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """A file whose entries may be recalled. Its ``stamp`` changes when it is written to."""

    scope: Scope
    path: str
    stamp: tuple[int, int, int]

    @property
    def key(self) -> FileKey:
        """Returns the file's key."""
        return self.scope.name, self.path


@dataclass(frozen=True, slots=True)
class Look:
    """The files of the vault at one moment.

    ``hidden`` are unreadable files and folders: what was known of them is kept. ``absent``: the
    whole tree is unavailable, with its disk for example.
    """

    scopes: tuple[Scope, ...] = ()
    places: tuple[Place, ...] = ()
    broken: tuple[FileReport, ...] = ()
    hidden: tuple[FileKey, ...] = ()
    absent: bool = False


@dataclass(frozen=True, slots=True)
class Settled:
    """The recallable entries of a file after its repair. ``waits``: ids are still to be given."""

    living: tuple[Memory, ...]
    waits: bool = False


class Vault(Protocol):
    """The Markdown tree: the truth. Every method blocks."""

    ledger: EntryLedger
    """The last known state of the files. Open it first."""

    def open(self) -> None:
        """Create the tree. Raises VaultWriteFailed."""
        ...

    def scopes(self) -> tuple[Scope, ...]:
        """Returns the scopes that have a folder."""
        ...

    def strays(self) -> tuple[FileReport, ...]:
        """Returns folders whose name is no legal scope: they are not read."""
        ...

    def ensure(self, scope: Scope) -> None:
        """Create the scope's folder. Raises VaultWriteFailed."""
        ...

    def read(self, scope: Scope) -> VaultContent:
        """Returns all recallable entries of a scope."""
        ...

    def named(self, name: str) -> Scope | None:
        """Returns the scope of a folder of ours, which may have been removed."""
        ...

    def look(self) -> Look:
        """Returns the files that exist, without opening them."""
        ...

    def see(
        self, places: Sequence[Place], known: dict[FileKey, KnownFile], *, anew: bool
    ) -> list[SeenFile | FileReport | KnownFile]:
        """Returns one answer for each file: its content, a report, or, unless all are read
        ``anew``, the ``known`` record of an unchanged file."""
        ...

    def stamps(self, keys: Sequence[FileKey]) -> dict[FileKey, tuple[int, int, int] | None]:
        """Returns the present stamps of files, None for a missing one."""
        ...

    def settle(
        self, seen: SeenFile, repair: Repair, known: Sequence[KnownEntry], *, name: bool
    ) -> Settled | None:
        """Write what a file needs after a person's save, and record its new state.

        Returns None if the file changed since it was seen. Without ``name`` no ids are given: a
        person may be typing. Raises VaultWriteFailed.
        """
        ...

    def bury(self, entries: Sequence[KnownEntry], *, at: datetime) -> None:
        """Archive entries that a person deleted in the files. Raises VaultWriteFailed."""
        ...

    def buried(self, entries: Sequence[KnownEntry]) -> dict[tuple[str, str], bool]:
        """Returns, by scope and id, which of these entries were archived since they were last
        appended; True if the archive has the same words."""
        ...

    def recently_removed(self, since: float) -> list[RemovedEntry]:
        """Returns what was forgotten by command after ``since`` (seconds since 1970) according to
        the archives, also if it was restored."""
        ...

    def finish_moves(self) -> None:
        """Complete the moves that a crash interrupted."""
        ...

    def edit(
        self, stored: StoredMemory, memory: Memory, *, by: Actor, at: datetime
    ) -> StoredMemory:
        """Rewrite an entry; its former version is kept in ``archive/``.

        Raises VaultWriteFailed, KeyError if a person has changed or deleted it.
        """
        ...

    def unedit(self, stored: StoredMemory) -> StoredMemory | None:
        """Restore the entry as it was before its last edit. Returns None if the archive does not
        have it.

        Raises VaultWriteFailed, KeyError.
        """
        ...

    def move(self, stored: StoredMemory, target: Scope) -> StoredMemory:
        """Move an entry to the same file of another scope.

        Raises VaultWriteFailed, KeyError if a person has deleted it.
        """
        ...

    def append(self, scope: Scope, topic: Topic, memory: Memory) -> StoredMemory:
        """Write and fsync; a memory without an id gets a unique one.

        Raises VaultWriteFailed if nothing was written.
        """
        ...

    def append_many(
        self, scope: Scope, entries: Sequence[tuple[Topic, Memory]]
    ) -> list[StoredMemory]:
        """The same for many, whose ids differ: one write and fsync for each file.

        Raises VaultWriteFailed if nothing was written; PartlyWritten if some files were.
        """
        ...

    def current(self, stored: StoredMemory) -> StoredMemory | None:
        """Returns the entry as it is in its file now, None if it was deleted.

        Raises VaultWriteFailed if its file cannot be read just now.
        """
        ...

    def replace(self, stored: StoredMemory, memory: Memory) -> StoredMemory:
        """Rewrite one entry in place. Raises VaultWriteFailed, KeyError if it was deleted."""
        ...

    def archive(self, stored: StoredMemory, *, by: Actor, at: datetime) -> str:
        """Move an entry to ``archive/``. Returns the archive's path inside the scope.

        Raises VaultWriteFailed, KeyError if a person has deleted the entry.
        """
        ...

    def archived(self, scope: Scope, memory_id: str) -> Memory | None:
        """Returns a forgotten entry of the scope, None if there is none."""
        ...

    def archive_many(
        self, stored: Sequence[StoredMemory], *, by: Actor, at: datetime
    ) -> list[StoredMemory]:
        """The same for many, file by file. Returns those that were in their known place with their
        known words; the others are not archived. Raises VaultWriteFailed."""
        ...

    def forgotten(
        self, scope: Scope, memory_ids: Collection[str], *, by: Actor | None = None
    ) -> set[str]:
        """Returns which of these are in the archive of the scope; with ``by``, only those that this
        actor forgot."""
        ...

    def archived_ids(self) -> set[str]:
        """Returns every id in the archives of all scopes: of forgotten entries, and of former
        versions of edited ones."""
        ...

    def archived_words(self, scope: Scope) -> set[tuple[str, str]] | None:
        """Returns id and words (``same_words``) of all archived entries, former versions included;
        None if a part cannot be read."""
        ...

    def erase(self, scope: Scope, unwanted: Callable[[Memory], bool]) -> int:
        """Delete from the archive what is ``unwanted``. Returns how many copies.

        Raises VaultWriteFailed; some copies may be deleted then.
        """
        ...

    def restore(self, scope: Scope, memory_id: str) -> StoredMemory | None:
        """Restore an archived entry to its former file. Returns None if there is none."""
        ...
