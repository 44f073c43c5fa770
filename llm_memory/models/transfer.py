"""What is carried out of a store and into one: the records of a file, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal, Self

from .data_models import NO_TIME, Memory, Refused

_FIRST: Final = 20
"""Refused lines that are told of one by one."""

type EntryState = Literal["living", "forgotten", "superseded", "edited", "conflict"]
"""What an exported entry is, as it is written."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a file. ``whole``: all of these scopes, files too; else what one
    conversation sees."""

    version: int
    plugin: str = ""
    exported_at: datetime = NO_TIME
    scopes: tuple[str, ...] = ()
    whole: bool = False
    vault_format: int = 1

    def latest(self, now: datetime) -> datetime:
        """The last moment of which the file can tell: what it dates later was said by then."""
        return now if self.exported_at == NO_TIME else min(self.exported_at, now)


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One entry. Its scope and file were not checked, and are empty where the line does not say;
    ``topic`` is empty for a file that a person named. ``missing``: which of ``id`` and
    ``created_at`` were made up."""

    scope: str
    path: str
    memory: Memory
    state: EntryState = "living"
    topic: str = ""
    missing: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A whole file whose entries alone would not give it back, of a scope or a shelf; neither that
    name nor the path was checked. ``modified``: nanoseconds since 1970."""

    scope: str
    path: str
    content: bytes
    modified: int


@dataclass(frozen=True, slots=True)
class End:
    """The last line: a file without it was cut short."""

    memories: int
    files: int


@dataclass(frozen=True, slots=True)
class SettingsRecord:
    """The owner's settings, the scope map among them; no secrets."""

    values: Mapping[str, object]


type Record = Header | SettingsRecord | MemoryRecord | FileRecord | End


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """A line that was not taken: for its form (``fault`` has a text in the i18n files; ``detail``
    is the field, or the disk's words), or as any other draft is."""

    number: int
    fault: str | None = None
    detail: str = ""
    rejected: Refused | None = None


@dataclass(frozen=True, slots=True)
class Exported:
    """A file in ``exports/``. ``by_scope`` counts its memories."""

    name: str
    by_scope: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What became of the lines of a file: how many were ``refused``, and the first ``lines`` of
    them. ``cut_short``: it has no last line, so it was not written or copied to its end."""

    refused: int = 0
    lines: tuple[RefusedLine, ...] = ()
    cut_short: bool = False

    def without(self, line: RefusedLine) -> Self:
        """Returns it with one more refused line."""
        lines = (*self.lines, line)[:_FIRST]
        return replace(self, refused=self.refused + 1, lines=lines)


@dataclass(frozen=True, slots=True)
class Imported(Taken):
    """What became of lines that all went to ``scope``, whatever they say. Of the ``stored`` some
    took the place of others; ``known`` ones stood there already, and some are stronger now; in
    ``redacted`` ones something private was hidden. ``stopped_at``: the line at which the import
    ended before its time, 0 if it did not."""

    scope: str
    stored: int = 0
    known: int = 0
    redacted: int = 0
    stopped_at: int = 0


@dataclass(frozen=True, slots=True)
class StoreRestored(Taken):
    """What became of a file of a whole store: entries that did not stand there before, and files
    that were written whole. Putting back its settings is the caller's. ``corrected`` entries were
    forgotten, edited or moved away since they were said; ``differing`` files stand there with other
    words, and were left as they are. ``ruling``: the words that the bot goes by from then on, each
    with its file: rules that somebody vouched for, decisions and the constitution of a scope, what
    all conversations read, and souls."""

    memories: int = 0
    files: int = 0
    corrected: int = 0
    differing: tuple[str, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    ruling: tuple[tuple[str, str], ...] = ()
