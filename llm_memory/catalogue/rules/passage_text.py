"""The texts of a passage: for the indexes, its context, and what is shown."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

from ...models.passages import NoteChunk, Passage
from ...text.normalising import embedded_text, one_line
from ...text.scripts import simplified
from .tasks import is_task, task_text

HEADING_SEPARATOR = " › "
_LONGEST_EMBEDDED = 4000
_PROPOSAL_KEY: Final = re.compile(r"\A> (.*) · (?:提案：|Proposal: )sha256:\w+$", re.MULTILINE)
"""Below a decision's heading: only the recorder reads the key."""


def indexed_text(passage: Passage) -> str:
    """Returns the text for word search: a memory's speaker, judgment and tags, or a note's own
    heading and text. (The headings above it describe its neighbours as well.)"""
    if isinstance(passage, NoteChunk):
        return one_line(f"{' '.join(passage.headings[-1:])} {body_of(passage)}")
    return embedded_text(passage.memory)


def embedded_passage(passage: Passage) -> str:
    """Returns the text to embed, in one script: for a memory the same as for word search, for a
    note all its headings and its text, cut to what embedding models read.

    The message before is left out: it is noise where messages are unrelated, and where they are
    related, neighbours raise each other's scores.
    """
    if isinstance(passage, NoteChunk):
        text = one_line(f"{HEADING_SEPARATOR.join(passage.headings)} {body_of(passage)}")
        return simplified(text[:_LONGEST_EMBEDDED])
    return embedded_text(passage.memory)


def asks_text(passage: Passage) -> str:
    """Returns the questions that a memory answers, as one text; empty for a note."""
    return "" if isinstance(passage, NoteChunk) else one_line(" ".join(passage.memory.asks))


def context_text(passage: Passage) -> str:
    """Returns the context: a memory's preceding message, reasoning and questions, or a note's file
    name and the headings above its own."""
    if isinstance(passage, NoteChunk):
        names = PurePosixPath(passage.path).with_suffix("").parts
        return " ".join((*names, *passage.headings[:-1]))
    memory = passage.memory
    return one_line(f"{memory.context} {memory.reasoning} {asks_text(passage)}")


def shown_text(passage: Passage) -> str:
    """Returns the text that previews are cut from."""
    if isinstance(passage, NoteChunk):
        return said_of(passage) or HEADING_SEPARATOR.join(passage.headings)
    return task_text(passage.memory) if is_task(passage) else passage.memory.judgment


def body_of(chunk: NoteChunk) -> str:
    """Returns the piece's text without its own heading, which is in ``headings``, and without the
    key of a decision's proposal."""
    return _PROPOSAL_KEY.sub(r"\1", _below_heading(chunk))


def said_of(chunk: NoteChunk) -> str:
    """Returns the same without the line of fields of a record whose reference is shown before
    it."""
    body = _below_heading(chunk)
    if chunk.reference and chunk.heading_lines and body.startswith(">"):
        return body.partition("\n")[2].strip()
    return body_of(chunk)


def _below_heading(chunk: NoteChunk) -> str:
    return "\n".join(chunk.text.split("\n")[chunk.heading_lines :]).strip()
