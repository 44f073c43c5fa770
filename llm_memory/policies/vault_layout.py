"""Where things stand inside a scope's folder."""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePosixPath

from ..models.data_models import Topic

ARCHIVE = "archive"
_NOT_RECALLED = frozenset({"primer.md", "memory.md"})
_CONFLICT_MARKS = (".conflict", ".sync-conflict", "conflicted copy")
"""How we, and the usual programs that keep folders the same, call the other version of a file."""


def topic_path(topic: Topic, moment: datetime) -> str:
    """The file for an entry, relative to the scope.

    A journal entry goes to the day on which it was written, in its own time zone.
    """
    if topic is Topic.JOURNAL:
        return f"{topic.value}/{moment:%Y-%m-%d}.md"
    return f"{topic.value}.md"


def part_path(path: str, part: int) -> str:
    """``entities-2.md``: what goes on where a file is full. The first part has the plain name."""
    whole = PurePosixPath(path)
    return whole.with_stem(f"{whole.stem}-{part}").as_posix() if part > 1 else path


def archive_path(path: str) -> str:
    """Where an entry of ``path`` goes when it is forgotten."""
    return f"{ARCHIVE}/{path}"


def is_recalled(path: str) -> bool:
    """True for files whose entries may be recalled; ``path`` is relative to the scope."""
    name = PurePosixPath(path).name.lower()
    return (
        name.endswith(".md")
        and name not in _NOT_RECALLED
        and not any(mark in name for mark in _CONFLICT_MARKS)
        and not is_passed_by(path)
    )


def is_passed_by(path: str) -> bool:
    """True for the archive, for what is hidden, and for all that lies in them."""
    parts = PurePosixPath(path).parts
    return parts[0].lower() == ARCHIVE or any(part.startswith(".") for part in parts)
