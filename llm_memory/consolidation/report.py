"""What a night did, in numbers, and how that is kept: as JSON, in one fact."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from typing import Literal

type Postponed = Literal["", "migrating", "building", "sleeping", "unready"]
"""Why a run did not begin; empty where it did. Each has a text in the i18n files. ``sleeping``:
another one is going on; ``unready``: the memories are not read yet."""


@dataclass(frozen=True, slots=True)
class SleepReport:
    """What a run, or one step of it, did: it holds no words.

    Attributes:
        reason: Who asked for it: ``nightly``, ``command``; empty where nothing ran.
        ended: None while it goes on.
        archived: Memories that had grown weak, and went to ``archive/``.
        merged: Memories that another one said as well, and went to ``archive/``.
        asked: Memories that got the questions that they had none of.
        pages: MEMORY.md files that were written.
        left: Such files that were left alone, for their markers are damaged or they are no text.
        purged: Memories of which nothing is left in our files, as a person had asked for.
        backup: The new backup's name, empty for none.
        errors: Steps that failed: ``<step>:<scope>: <what was said>``.
    """

    reason: str = ""
    ended: datetime | None = None
    postponed: Postponed = ""
    archived: int = 0
    merged: int = 0
    asked: int = 0
    pages: int = 0
    left: int = 0
    purged: int = 0
    backup: str = ""
    errors: tuple[str, ...] = ()

    def plus(self, done: SleepReport) -> SleepReport:
        """Returns this report with what a step did."""
        counts = {
            field.name: getattr(self, field.name) + getattr(done, field.name)
            for field in fields(self)
            if isinstance(field.default, int)
        }
        backup, errors = done.backup or self.backup, (*self.errors, *done.errors)
        return replace(self, **counts, backup=backup, errors=errors)

    def as_json(self) -> str:
        """Returns what ``of_json`` reads."""
        return json.dumps(asdict(self), ensure_ascii=False, default=datetime.isoformat)

    @classmethod
    def of_json(cls, text: str) -> SleepReport:
        """Read a report; fields of another version are ignored. Raises ValueError."""
        from pydantic import TypeAdapter

        return TypeAdapter(cls).validate_json(text)
