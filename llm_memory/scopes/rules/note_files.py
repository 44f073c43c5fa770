"""Which files are notes, what a piece of one is called, and who reads the shelves."""

from __future__ import annotations

import hashlib
import re
from pathlib import PurePosixPath

from ...models.conversation import ConversationId
from ...models.data_models import Topic
from ...models.resolution import ReadsNothing, Resolution, Usable
from ...models.scope import ROOT_NOTES, SHARED, Place
from ...models.vault_layout import MEMORY_PAGE, is_markdown, is_recalled

_TOPICS = "|".join(topic.value for topic in Topic if topic is not Topic.JOURNAL)
_TOPIC_FILE = re.compile(
    rf"(?:{_TOPICS})(?:-\d+)?\.md|{Topic.JOURNAL.value}/\d{{4}}-\d\d-\d\d(?:-\d+)?\.md",
    re.IGNORECASE,
)
_DATED = re.compile(r"(?:memory/)?\d{4}-\d\d-\d\d(?:\D[^/]*)?\.md", re.ASCII | re.IGNORECASE)
_ID_DIGITS = 20
OLDER_FOLDER = "memory"
"""Where older layouts have a file for each day, below the memory root."""


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


def note_id(place: Place, path: str, headings: tuple[str, ...], text: str, nth: int) -> str:
    """The id of a piece. ``nth`` counts pieces of a file that agree in headings and text."""
    parts = (place.name, PurePosixPath(path).as_posix(), *headings, text, str(nth))
    # With its length before each part, no two lists of parts look the same.
    spelt = "".join(f"{len(part)}:{part}" for part in (str(len(headings)), *parts))
    digest = hashlib.sha256(spelt.encode("utf-8", "surrogatepass")).hexdigest()
    return f"n-{digest[:_ID_DIGITS]}"


def shelves_of(
    conversation_id: ConversationId, resolution: Resolution, *, reads_root: bool = False
) -> tuple[Place, ...]:
    """``shared/`` for everybody, and where the store is a project's the notes in its root; a
    persona's notes where it is known which persona is in force.

    A conversation that the owner's map is wrong about reads what is everybody's, and no more: its
    persona may be what the map would have kept apart.
    """
    if isinstance(resolution, ReadsNothing):
        return ()
    persona = conversation_id.persona if isinstance(resolution, Usable) else None
    everybodys = (SHARED, ROOT_NOTES) if reads_root else (SHARED,)
    return (*everybodys, Place.of_role(persona)) if persona else everybodys
