"""The nightly consolidation: its steps, what it plans, what came of it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from enum import StrEnum
from typing import Final, Literal

_MOST_ERRORS: Final = 20


class SleepStep(StrEnum):
    """What is done, in this order; from FADE to QUESTIONS in each scope."""

    BEGIN = "begin"
    BACKUP = "backup"
    SCOPES = "scopes"
    FADE = "fade"
    MERGE = "merge"
    JOURNAL = "journal"
    OVERVIEW = "overview"
    QUESTIONS = "questions"
    PURGE = "purge"
    SOUL = "soul"
    END = "end"


type Postponed = Literal["", "migrating", "building", "sleeping", "unready", "unavailable"]
"""Why a run did not begin; empty where it did. Each has a text in the i18n files. ``sleeping``:
another one is going on; ``unready``: the memories are not read yet; ``unavailable``: the file of
the memory loop cannot be used."""


@dataclass(frozen=True, slots=True)
class SleepReport:
    """What a run, or one step of it, did, in numbers: it holds no words.

    Attributes:
        run_id: Empty where nothing ran.
        reason: Who asked for it: ``nightly``, ``command``.
        ended: None while it goes on.
        faded: Memories that are weaker now.
        raised: Memories that are stronger now, because they were useful.
        archived: Weak ones that went to ``archive/``.
        waiting: Weak ones that stay one night more: no run takes more than a quarter of a scope.
        merged: Memories that another one said as well, and that went to ``archive/``.
        unmerged: Scopes in which nothing could be compared: no index, or no embedder.
        journals: Days whose journal was written.
        postponed_days: Days that wait for another night.
        asked: Memories that got the questions that they had none of.
        pages: MEMORY.md and PRIMER.md files that were written.
        purged: Memories of which nothing is left in any file, as a person had asked for.
        left: Such files that were left alone, for their markers are damaged or they are no text.
        backup: The new backup's name, empty for none.
        removed: Older backups that were removed.
        errors: Steps that failed: ``<step>:<scope>: <what was said>``.
    """

    run_id: str = ""
    reason: str = ""
    begun: datetime | None = None
    ended: datetime | None = None
    postponed: Postponed = ""
    faded: int = 0
    raised: int = 0
    archived: int = 0
    waiting: int = 0
    merged: int = 0
    unmerged: int = 0
    journals: int = 0
    postponed_days: int = 0
    asked: int = 0
    pages: int = 0
    left: int = 0
    purged: int = 0
    backup: str = ""
    removed: int = 0
    errors: tuple[str, ...] = ()

    def plus(self, done: SleepReport) -> SleepReport:
        """Returns this report with what a step did."""
        counts = {
            field.name: getattr(self, field.name) + getattr(done, field.name)
            for field in fields(self)
            if isinstance(field.default, int)
        }
        errors = (*self.errors, *done.errors)[:_MOST_ERRORS]
        return replace(self, **counts, backup=done.backup or self.backup, errors=errors)


@dataclass(frozen=True, slots=True)
class JournalDay:
    """How far the journal of a scope's day is. ``nights``: so often it was tried in vain."""

    scope: str
    day: date
    nights: int = 0
    written: bool = False
