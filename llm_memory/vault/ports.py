"""The Markdown tree."""

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
    """Of what was to be appended at once, ``written`` stands in the vault, the rest nowhere."""

    def __init__(self, message: str, written: Sequence[StoredMemory]) -> None:
        super().__init__(message)
        self.written = tuple(written)


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


@dataclass(frozen=True, slots=True)
class Place:
    """A file whose entries may be recalled. Its ``stamp`` changes when somebody writes to it."""

    scope: Scope
    path: str
    stamp: tuple[int, int, int]

    @property
    def key(self) -> FileKey:
        """Which file it is."""
        return self.scope.name, self.path


@dataclass(frozen=True, slots=True)
class Look:
    """The files of the vault at one moment.

    ``hidden`` are files and folders that nobody can look into: what was known of them stays.
    ``absent``: the whole tree is gone, with its disk for example.
    """

    scopes: tuple[Scope, ...] = ()
    places: tuple[Place, ...] = ()
    broken: tuple[FileReport, ...] = ()
    hidden: tuple[FileKey, ...] = ()
    absent: bool = False


@dataclass(frozen=True, slots=True)
class Settled:
    """What lives in a file after it was put right. ``waits``: ids are still to be given."""

    living: tuple[Memory, ...]
    waits: bool = False


class Vault(Protocol):
    """The Markdown tree: the truth. Every method blocks."""

    ledger: EntryLedger
    """What was last known of the files. Open it first."""

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

    def named(self, name: str) -> Scope | None:
        """The scope of a folder of ours that may be gone by now."""
        ...

    def look(self) -> Look:
        """Which files stand there. Opens none of them."""
        ...

    def see(
        self, places: Sequence[Place], known: dict[FileKey, KnownFile], *, anew: bool
    ) -> list[SeenFile | FileReport | KnownFile]:
        """What stands in files, one answer each: a file that is as it is ``known`` answers with
        that, unless all are read ``anew``."""
        ...

    def stamps(self, keys: Sequence[FileKey]) -> dict[FileKey, tuple[int, int, int] | None]:
        """The stamps of files now, None for one that is not there."""
        ...

    def settle(
        self, seen: SeenFile, repair: Repair, known: Sequence[KnownEntry], *, name: bool
    ) -> Settled | None:
        """Write what a file needs after a person's save, and note how it is then.

        None if it is not the one that was seen any more. Without ``name`` no ids are given, for a
        person may be typing. Raises VaultWriteFailed.
        """
        ...

    def bury(self, entries: Sequence[KnownEntry], *, at: datetime) -> None:
        """Put entries that a person deleted into the archives. Raises VaultWriteFailed."""
        ...

    def buried(self, entries: Sequence[KnownEntry]) -> dict[tuple[str, str], bool]:
        """By scope and id, which of these lie in the archive, forgotten since they were last
        appended; True if the same words lie there."""
        ...

    def recently_removed(self, since: float) -> list[RemovedEntry]:
        """What was forgotten by command after ``since`` (seconds since 1970), as the archives tell,
        whether or not it lives."""
        ...

    def finish_moves(self) -> None:
        """End the moves that a crash interrupted."""
        ...

    def edit(
        self, stored: StoredMemory, memory: Memory, *, by: Actor, at: datetime
    ) -> StoredMemory:
        """Rewrite an entry; how it was goes to ``archive/``.

        Raises VaultWriteFailed, KeyError if a person has changed it or taken it out.
        """
        ...

    def unedit(self, stored: StoredMemory) -> StoredMemory | None:
        """The entry as it was before its last edit; None if the archive has no such one.

        Raises VaultWriteFailed, KeyError.
        """
        ...

    def move(self, stored: StoredMemory, target: Scope) -> StoredMemory:
        """Move an entry to the same file of another scope.

        Raises VaultWriteFailed, KeyError if a person has taken it out.
        """
        ...

    def append(self, scope: Scope, topic: Topic, memory: Memory) -> StoredMemory:
        """Write and fsync; a memory without an id gets one that no other has.

        Raises VaultWriteFailed, and then nothing was changed.
        """
        ...

    def append_many(
        self, scope: Scope, entries: Sequence[tuple[Topic, Memory]]
    ) -> list[StoredMemory]:
        """The same for many, whose ids differ: one write and fsync a file.

        Raises VaultWriteFailed, and then nothing was changed; PartlyWritten, if some files took
        theirs.
        """
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

    def archive_many(
        self, stored: Sequence[StoredMemory], *, by: Actor, at: datetime
    ) -> list[StoredMemory]:
        """The same for many, a file at a time: those that stood where they were known, with the
        words that were known. The others are left alone. Raises VaultWriteFailed."""
        ...

    def forgotten(
        self, scope: Scope, memory_ids: Collection[str], *, by: Actor | None = None
    ) -> set[str]:
        """Which of these lie in the archive of the scope; with ``by``, because of that one."""
        ...

    def archived_ids(self) -> set[str]:
        """Every id that an archive names, of whatever scope: what was forgotten, and what lives
        and was something else before."""
        ...

    def archived_words(self, scope: Scope) -> set[tuple[str, str]] | None:
        """Id and words (``same_words``) of all that the archive holds, what was edited included;
        None where a part of it cannot be read."""
        ...

    def erase(self, scope: Scope, unwanted: Callable[[Memory], bool]) -> int:
        """Take out of the archive for good what is ``unwanted``; how many copies.

        Raises VaultWriteFailed: some may be out.
        """
        ...

    def restore(self, scope: Scope, memory_id: str) -> StoredMemory | None:
        """Bring an archived entry back to the file it came from; None if there is none."""
        ...
