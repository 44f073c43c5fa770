"""Which folders a store has, and where things stand inside a scope's."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import datetime
from pathlib import PurePath, PurePosixPath
from typing import Final

from .data_models import NO_TIME, Topic
from .scope import ROLES_FOLDER, ROOT_NOTES, SHARED_FOLDER, SOUL_FOLDER, Place

SCOPES: Final = "scopes"
CARRIED: Final[Mapping[str, tuple[str, ...]]] = {
    SCOPES: (".md",),
    SHARED_FOLDER: (".md",),
    ROLES_FOLDER: (".md",),
    SOUL_FOLDER: (".md", ".jsonl"),
}
"""The folders below a memory root that belong to a store, and how the names of their files end:
what backups, exports and restores carry. A project's root has notes in itself, too."""
ENDINGS: Final = tuple({ending for endings in CARRIED.values() for ending in endings})
ARCHIVE = "archive"
MEMORY_PAGE = "MEMORY.md"
PRIMER_PAGE = "PRIMER.md"
CONSTITUTION_PAGE = "CONSTITUTION.md"
SOUL_PAGE = "SOUL.md"
"""In ``roles/<role>/``: what is in force of the manner that a persona has learned."""
SOUL_CHAIN = "chain.jsonl"
SOUL_VERSIONS = "versions"
"""Beside the log of what was done to a SOUL.md, each text that was in force: where either is, the
file is governed."""
_PAGE = re.compile(r"(?:memory|primer)(?:-\d+)?\.md", re.ASCII)
_CONFLICT_MARKS = (".conflict", ".sync-conflict", "conflicted copy")
"""How we, and the usual programs that keep folders the same, call the other version of a file."""
_BY_STEM = {topic.value.casefold(): topic for topic in Topic}
_STEM = re.compile(r"([a-z]+)(?:[^a-z].*)?\.md", re.DOTALL)
_TOPICS = "|".join(topic.value for topic in Topic if topic is not Topic.JOURNAL)
_TOPIC_FILE = re.compile(
    rf"(?:{_TOPICS})(?:-\d+)?\.md|{Topic.JOURNAL.value}/\d{{4}}-\d\d-\d\d(?:-\d+)?\.md",
    re.IGNORECASE,
)
_DATED = re.compile(r"(?:memory/)?\d{4}-\d\d-\d\d(?:\D[^/]*)?\.md", re.ASCII | re.IGNORECASE)


def endings_of(folder: PurePath) -> tuple[str, ...]:
    """How the names of the carried files of a folder end; ``folder`` is relative to the root."""
    return CARRIED.get(folder.parts[0], ()) if folder.parts else (".md",)


def topic_path(topic: Topic, moment: datetime) -> str:
    """The file for an entry, relative to the scope: a journal's is that of the day on which it was
    written, in its own time zone."""
    if topic is not Topic.JOURNAL:
        return f"{topic.value}.md"
    day = "undated" if moment == NO_TIME else f"{moment:%Y-%m-%d}"
    return f"{topic.value}/{day}.md"


def topic_of(path: str) -> Topic | None:
    """The topic of ``TASKS.md`` or ``preferences-2.md``; None for a file that somebody named."""
    if path.startswith(f"{Topic.JOURNAL.value}/"):
        return Topic.JOURNAL
    named = _STEM.fullmatch(path.rpartition("/")[2].casefold())
    return _BY_STEM.get(named[1]) if named else None


def is_topic_file(path: str) -> bool:
    """True for files that entries are routed to; ``path`` is relative to the scope."""
    return _TOPIC_FILE.fullmatch(path) is not None


def may_be_note(place: Place, path: str) -> bool:
    """True for any Markdown of a shelf; for a file of a scope that is a note, if no entry stands in
    it. A scope's own MEMORY.md is one, as far as a person wrote it. Of the memory root itself: what
    lies in it, and the days below ``memory/``."""
    if place == ROOT_NOTES:
        return is_markdown(path) and ("/" not in path or is_dated(path))
    if place.is_shelf:
        return is_markdown(path)
    return path == MEMORY_PAGE or (is_recalled(path) and not is_topic_file(path))


def is_dated(path: str) -> bool:
    """True for a file of the memory root, or of ``memory/`` there, that is named by a day."""
    return _DATED.fullmatch(path) is not None


def part_path(path: str, part: int) -> str:
    """``entities-2.md``: what goes on where a file is full. The first part has the plain name."""
    whole = PurePosixPath(path)
    return whole.with_stem(f"{whole.stem}-{part}").as_posix() if part > 1 else path


def archive_path(path: str) -> str:
    """Where an entry of ``path`` goes when it is forgotten."""
    return f"{ARCHIVE}/{path}"


def conflict_path(path: str) -> str:
    """Where the bot's version goes of an entry that a person changed at the same time."""
    whole = PurePosixPath(path)
    return whole.with_name(f"{whole.stem}.conflict.md").as_posix()


def is_recalled(path: str) -> bool:
    """True for files whose entries may be recalled; ``path`` is relative to the scope."""
    overviews = (PRIMER_PAGE.lower(), MEMORY_PAGE.lower())
    return is_markdown(path) and path.rpartition("/")[2].lower() not in overviews


def is_markdown(path: str) -> bool:
    """True for a Markdown file that is neither archived, hidden nor a sync program's copy."""
    name = path.rpartition("/")[2].lower()
    return name.endswith(".md") and not is_other_version(name) and not is_passed_by(path)


def is_page(path: str) -> bool:
    """True for an overview that the bot writes, and for its former texts in the archive."""
    return _PAGE.fullmatch(path.rpartition("/")[2].casefold()) is not None


def folded(name: str) -> str:
    """The same for all names, or paths, that some disk takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def is_other_version(name: str) -> bool:
    """True for a file that is kept beside another because two had changed it at once."""
    return any(mark in name.lower() for mark in _CONFLICT_MARKS)


def is_passed_by(path: str) -> bool:
    """True for the archive, for what is hidden, and for all that lies in them."""
    first = path.partition("/")[0]
    return first.lower() == ARCHIVE or path.startswith(".") or "/." in path
