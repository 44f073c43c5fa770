"""The vault as it was last known, as it is found now, and what lies between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ..errors import VaultWriteFailed
from ..models.data_models import Memory, StoredMemory
from ..models.scope import Scope

BUFFER_SECONDS: Final = 24 * 3600.0
"""An editor holds an old version of a file no longer than this."""

EMPTY: Final = "e4a6a0577479b2b4"
"""The digest of a file in which nothing stands."""

_COPY: Final = "="

type FileKey = tuple[str, str]
"""A scope's name, and a path inside its folder."""


@dataclass(frozen=True, slots=True)
class KnownEntry:
    """An entry as it stood when the bot last wrote it or saw it.

    Attributes:
        digest: Of its lines in the file.
        appended: Number of the bot's append, rising; 0 once a person has saved a file that held the
            entry: from then on nobody saves a version older than it without knowing of it.
        appended_at: When that was, seconds since 1970.
        before: Digest of the whole file before that append; empty if there was no file.
        after: And after it.
        returned: An append that repeats one which an old buffer had undone.
        prior: What the bot rewrote, if no person has saved the file since.
        prior_digest: The digest of its lines.
        rewritten_at: When, seconds since 1970.
        held: It is gone from the files, together with most of its scope; nobody said that it is to
            be forgotten.
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
        """Its id."""
        return self.memory.memory_id

    @property
    def file(self) -> FileKey:
        """Where it stands."""
        return self.scope, self.path


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file at the same moment. ``plain`` is the digest of what stands outside the entries."""

    scope: str
    path: str
    digest: str
    plain: str
    timeless: bool = False
    """Some entry has the file's time."""

    def outdated(self) -> KnownFile:
        """The same, once the bot has written to another version: if that one is gone again and the
        file is as it was, it is not as it is known."""
        return self if self.digest.startswith("~") else replace(self, digest=f"~{self.digest}")

    @property
    def last(self) -> str:
        """The digest of the version that was looked at last."""
        return self.digest.lstrip(f"~{_COPY}")

    @property
    def is_copy(self) -> bool:
        """It was a copy of others when it was looked at last, and nothing in it lives."""
        return self.digest.startswith(_COPY)

    @classmethod
    def of_copy(cls, file: SeenFile) -> KnownFile:
        """Never as it is known: each start compares it again."""
        return cls(file.scope.name, file.path, f"{_COPY}{file.digest}", file.plain)


@dataclass(frozen=True, slots=True)
class RemovedEntry:
    """An entry that the bot took out of a file, because somebody forgot or moved it by command."""

    scope: str
    path: str
    memory_id: str
    digest: str
    at: float


@dataclass(frozen=True, slots=True)
class SeenEntry:
    """An entry that stands in a file now."""

    memory: Memory
    digest: str


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file as it is now. ``unnamed`` are a person's entries that have no id yet: theirs here mean
    nothing."""

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
        """Which file it is."""
        return self.scope.name, self.path


@dataclass(frozen=True, slots=True)
class Repair:
    """What is to be written into one file before it is as it should be.

    Attributes:
        returned: Entries of ours that an old buffer dropped: appended again.
        restored: Entries of ours that an old buffer undid: written again.
        conflicts: Our versions of entries that a person changed at the same time.
        cut: Id and digest of entries that an old buffer brought back: taken out again.
        copied: Numbers of entries that are copies: each gets an id of its own.
        adopts: Words without an id stand there.
        kept_ids: Words without an id that had one: for each the words, and the id.
        taken_back: Entries that the bot rewrote, and a person wrote as they were before: what the
            bot had made of them goes to the archive.
    """

    returned: tuple[KnownEntry, ...] = ()
    restored: tuple[KnownEntry, ...] = ()
    conflicts: tuple[KnownEntry, ...] = ()
    cut: tuple[tuple[str, str], ...] = ()
    copied: tuple[int, ...] = ()
    adopts: bool = False
    kept_ids: tuple[KnownEntry, ...] = ()
    taken_back: tuple[KnownEntry, ...] = ()

    @property
    def mends(self) -> bool:
        """Something is to be written besides ids."""
        return bool(self.returned or self.restored or self.conflicts or self.cut)


@dataclass(frozen=True, slots=True)
class Copy:
    """What a copy of another file holds.

    Attributes:
        original: The path of the file that has most of it.
        originals: All files that have some of it.
        entries: How many entries stand in them.
        different: How many stand in the copy alone.
    """

    original: str
    originals: frozenset[FileKey]
    entries: int
    different: int


@dataclass(frozen=True, slots=True)
class Changes:
    """What a person did to the files, and what follows.

    Attributes:
        living: Every entry that stands in the files looked at, by where: what is not known as it is
            here was changed, is new, or came from elsewhere.
        left: Entries that are at another place now: known no longer at the old one.
        vanished: Entries that are gone, and are to be forgotten.
        held: Entries that are gone with most of their scope.
        back: Entries that were held, and are there again.
        repairs: By file.
        clashes: By file, ids that entries of it share with another entry of the scope that says
            something else: one of the two gets another id.
        copies: The files that are copies of others: what stands in them is none of ``living``.
    """

    living: tuple[tuple[SeenFile, SeenEntry, KnownEntry | None], ...] = ()
    left: tuple[KnownEntry, ...] = ()
    vanished: tuple[KnownEntry, ...] = ()
    held: tuple[KnownEntry, ...] = ()
    back: tuple[KnownEntry, ...] = ()
    repairs: dict[FileKey, Repair] = field(default_factory=dict)
    clashes: dict[FileKey, tuple[str, ...]] = field(default_factory=dict)
    copies: dict[FileKey, Copy] = field(default_factory=dict)


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

    ``hidden`` are files and folders that cannot be read: what was known of them stays.
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
