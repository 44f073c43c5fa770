"""The texts of a passage: what is indexed, what stands around it, what is shown of it."""

from __future__ import annotations

from pathlib import PurePosixPath

from ...models.notes import NoteChunk
from ...models.passages import Passage
from ...text.normalising import embedded_text, one_line
from .tasks import is_task, task_text

TRAIL = " › "
_LONGEST_EMBEDDED = 4000


def indexed_text(passage: Passage) -> str:
    """What is searched for words: of a memory its speaker, judgment and tags, of a note its own
    heading and text. (The headings above it speak of its neighbours as well.)"""
    if isinstance(passage, NoteChunk):
        return one_line(f"{' '.join(passage.headings[-1:])} {body_of(passage)}")
    return embedded_text(passage.memory)


def embedded_passage(passage: Passage) -> str:
    """What is embedded of it: of a memory what is searched for words, of a note all its headings,
    and of a long piece, a table say, as much as models read.

    Not the message before: it is noise where messages do not follow on each other, and where they
    do, neighbours lend each other of their scores.
    """
    if isinstance(passage, NoteChunk):
        return one_line(f"{TRAIL.join(passage.headings)} {body_of(passage)}")[:_LONGEST_EMBEDDED]
    return embedded_text(passage.memory)


def context_text(passage: Passage) -> str:
    """What stands around it: of a memory the message before and its reasoning, of a note the name
    of its file and the headings above its own."""
    if isinstance(passage, NoteChunk):
        names = PurePosixPath(passage.path).with_suffix("").parts
        return " ".join((*names, *passage.headings[:-1]))
    return one_line(f"{passage.memory.context} {passage.memory.reasoning}")


def shown_text(passage: Passage) -> str:
    """What a preview is cut from."""
    if isinstance(passage, NoteChunk):
        return body_of(passage) or TRAIL.join(passage.headings)
    return task_text(passage.memory) if is_task(passage) else passage.memory.judgment


def body_of(chunk: NoteChunk) -> str:
    """The piece without its own heading, which stands in ``headings``."""
    return "\n".join(chunk.text.split("\n")[chunk.heading_lines :]).strip()
