"""What the bot last knew of the vault's files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from .models import FileKey, KnownEntry, KnownFile, RemovedEntry


class UndoKind(StrEnum):
    """What can be undone."""

    FORGET = "forget"
    EDIT = "edit"
    MOVE = "move"
    BRING = "bring"
    """Many at once: ``memory_id`` is the batch, and ``migration.sqlite`` tells what is in it."""


@dataclass(frozen=True, slots=True)
class UndoRecord:
    """Something that a person had done to a memory by command.

    ``number`` rises. ``source`` is the scope in which it stood, ``target`` the one in which it
    stands since; both are the same but for a move. ``words`` is a hash of what it
    left: where something else was written since, there is nothing to undo.
    """

    number: int
    kind: UndoKind
    memory_id: str
    source: str
    target: str
    person: str
    conversation: str
    words: str = ""


class EntryLedger(Protocol):
    """Entries and files as they were last written or seen, durable across a kill.

    Every method blocks; each row carries its scope. All but ``open`` and ``close`` raise
    StateUnavailable.
    """

    def open(self) -> bool:
        """Make ready. False if nothing is kept beyond ``close``, or what was kept is lost."""
        ...

    def files(self) -> dict[FileKey, KnownFile]:
        """All files."""
        ...

    def file(self, key: FileKey) -> KnownFile | None:
        """One file."""
        ...

    def entry(self, scope: str, memory_id: str) -> KnownEntry | None:
        """One entry."""
        ...

    def entries_in(
        self, keys: Collection[FileKey], *, but: Collection[str] = ()
    ) -> list[KnownEntry]:
        """The entries of some files, without those of some ids."""
        ...

    def entries_named(self, memory_ids: Collection[str]) -> list[KnownEntry]:
        """All entries with these ids, in any scope."""
        ...

    def held(self) -> list[KnownEntry]:
        """Entries that are gone with most of their scope."""
        ...

    def counts(self) -> dict[str, int]:
        """How many entries each scope had."""
        ...

    def record(
        self,
        *,
        files: Sequence[KnownFile] = (),
        entries: Sequence[KnownEntry] = (),
        gone: Collection[tuple[str, str]] = (),
        gone_files: Collection[FileKey] = (),
        departed: Sequence[RemovedEntry] = (),
    ) -> None:
        """Put files and entries; first take out entries (scope and id) and files that are gone.
        All of it, or nothing. An entry that is put has not departed."""
        ...

    def next_append(self) -> int:
        """A number that rises."""
        ...

    def departed(self) -> list[RemovedEntry]:
        """What the bot took out of files lately."""
        ...

    def begin_move(self, memory_id: str, source: str, target: str) -> None:
        """Note that an entry is about to be copied to another scope, and then cut."""
        ...

    def unfinished_moves(self) -> list[tuple[str, str, str]]:
        """Id, source and target of each move that began and did not end."""
        ...

    def end_move(self, memory_id: str) -> None:
        """It ended."""
        ...

    def add_undo_record(self, undo_record: UndoRecord) -> None:
        """Note what was done; its number is given here."""
        ...

    def undo_records(
        self, memory_id: str = "", *, person: str = "", conversation: str = ""
    ) -> list[UndoRecord]:
        """Deeds, the last first: on one memory, or of one person in one conversation."""
        ...

    def drop_undo_record(self, number: int) -> None:
        """It was undone."""
        ...

    def checkpoint_wal(self) -> None:
        """Leave no former row in any file."""
        ...

    def close(self) -> None:
        """Give back the file. Idempotent."""
        ...
