"""The vault's known state, its present state, and the differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ..errors import VaultWriteFailed
from ..models.data_models import Memory, StoredMemory
from ..models.scope import Scope

BUFFER_SECONDS: Final = 24 * 3600.0
"""The longest time that an editor is assumed to hold an old version of a file."""

EMPTY: Final = "e4a6a0577479b2b4"
"""The digest of an empty file."""

_COPY: Final = "="

type FileKey = tuple[str, str]
"""A scope's name, and a path inside its folder."""


@dataclass(frozen=True, slots=True)
class KnownEntry:
    """An entry as the bot last wrote or saw it.

    Attributes:
        digest: The digest of its lines in the file.
        appended: Number of the bot's append, rising; 0 once a person has saved a file that held the
            entry: from then on no save of a person's predates it.
        appended_at: The time of that append, seconds since 1970.
        before: Digest of the whole file before that append; empty if there was none.
        after: Digest of the whole file after it.
        returned: The append repeats one that a stale save had undone.
        prior: The version that the bot rewrote, if no person has saved the file since.
        prior_digest: The digest of that version's lines.
        rewritten_at: The time of the rewrite, seconds since 1970.
        held: It is missing in the files, together with most of its scope, and no person has
            confirmed the deletion.
    """

    scope: str
    path: str
    memory: Memory
    digest: str
    appended: int = 0
    appended_at: float = 0.0
    before: str = ""
    after: str = ""
    returned: bool = False
    prior: Memory | None = None
    prior_digest: str = ""
    rewritten_at: float = 0.0
    held: bool = False

    @property
    def memory_id(self) -> str:
        """Returns its id."""
        return self.memory.memory_id

    @property
    def file(self) -> FileKey:
        """Returns the key of its file."""
        return self.scope, self.path


@dataclass(frozen=True, slots=True)
class KnownFile:
    """The record of a file. ``plain`` is the digest of the text outside the entries."""

    scope: str
    path: str
    digest: str
    plain: str
    timeless: bool = False
    """Some entry has the file's time."""

    def outdated(self) -> KnownFile:
        """Returns the record after the bot wrote to an unknown version: if the file gets its
        recorded content again, it must still be compared."""
        return self if self.digest.startswith("~") else replace(self, digest=f"~{self.digest}")

    @property
    def last(self) -> str:
        """Returns the digest of the version that was compared last."""
        return self.digest.lstrip(f"~{_COPY}")

    @property
    def is_copy(self) -> bool:
        """True if it was a copy of others when it was compared last: its entries are not
        recalled."""
        return self.digest.startswith(_COPY)

    @classmethod
    def of_copy(cls, file: SeenFile) -> KnownFile:
        """Returns a record that matches no content, so that each start compares the file again."""
        return cls(file.scope.name, file.path, f"{_COPY}{file.digest}", file.plain)


@dataclass(frozen=True, slots=True)
class RemovedEntry:
    """An entry that the bot removed from a file for a forget or move command."""

    scope: str
    path: str
    memory_id: str
    digest: str
    at: float


@dataclass(frozen=True, slots=True)
class SeenEntry:
    """An entry that is in a file now."""

    memory: Memory
    digest: str


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file as it is now. ``unnamed`` are a person's entries without an id; the ids they have here
    mean nothing."""

    scope: Scope
    path: str
    digest: str
    plain: str
    entries: tuple[SeenEntry, ...] = ()
    unnamed: tuple[Memory, ...] = ()
    timeless: bool = False
    empty: bool = False

    @property
    def key(self) -> FileKey:
        """Returns the file's key."""
        return self.scope.name, self.path


@dataclass(frozen=True, slots=True)
class Repair:
    """What must be written into one file to repair it.

    Attributes:
        returned: Our entries that a stale save dropped: they are appended again.
        restored: Our rewrites that a stale save undid: they are written again.
        conflicts: Our versions of entries that a person changed concurrently.
        cut: Id and digest of entries that a stale save brought back: they are removed again.
        copied: Numbers of entries that are copies: each gets a new id.
        adopts: The file has words without an id.
        kept_ids: The known entries of words that lost their id.
        taken_back: Entries whose rewrite by the bot a person reverted: the bot's version is
            archived.
        reworded: Entries to which a person gave other words, without the questions that were
            written for the former ones.
    """

    returned: tuple[KnownEntry, ...] = ()
    restored: tuple[KnownEntry, ...] = ()
    conflicts: tuple[KnownEntry, ...] = ()
    cut: tuple[tuple[str, str], ...] = ()
    copied: tuple[int, ...] = ()
    adopts: bool = False
    kept_ids: tuple[KnownEntry, ...] = ()
    taken_back: tuple[KnownEntry, ...] = ()
    reworded: tuple[Memory, ...] = ()

    @property
    def needs_rewrite(self) -> bool:
        """True if something other than ids must be written."""
        return bool(self.returned or self.restored or self.conflicts or self.cut or self.reworded)


@dataclass(frozen=True, slots=True)
class Copy:
    """A file that is a copy of another.

    Attributes:
        original: The path of the file that has most of its entries.
        originals: All files that have some of its entries.
        entries: How many of its entries they have.
        different: How many entries are in the copy alone.
    """

    original: str
    originals: frozenset[FileKey]
    entries: int
    different: int


@dataclass(frozen=True, slots=True)
class Changes:
    """What a person did to the files, and what follows.

    Attributes:
        living: Every entry in the compared files with its file and its known state, if any.
        left: Entries that moved to another place: their old records are dropped.
        vanished: Missing entries that are to be forgotten.
        held: Missing entries that are held, because most of their scope is missing.
        repairs: What to write, by file.
        clashes: By file, ids that its entries share with a different entry of the scope: one of the
            two gets a new id.
        copies: The files that are copies of others: their entries are not in ``living``.
    """

    living: tuple[tuple[SeenFile, SeenEntry, KnownEntry | None], ...] = ()
    left: tuple[KnownEntry, ...] = ()
    vanished: tuple[KnownEntry, ...] = ()
    held: tuple[KnownEntry, ...] = ()
    repairs: dict[FileKey, Repair] = field(default_factory=dict)
    clashes: dict[FileKey, tuple[str, ...]] = field(default_factory=dict)
    copies: dict[FileKey, Copy] = field(default_factory=dict)


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
class FoundFile:
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
    files: tuple[FoundFile, ...] = ()
    broken: tuple[FileReport, ...] = ()
    hidden: tuple[FileKey, ...] = ()
    absent: bool = False


@dataclass(frozen=True, slots=True)
class RepairedFile:
    """The recallable entries of a file after its repair. ``waits``: ids are still to be given."""

    living: tuple[Memory, ...]
    waits: bool = False
