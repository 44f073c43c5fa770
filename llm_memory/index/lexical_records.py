"""What the index of words holds of a passage."""

from __future__ import annotations

from ..catalogue.catalogue import key_of
from ..catalogue.rules.passage_text import context_text, indexed_text
from ..models.data_models import StoredMemory, shown_day
from ..models.passages import Passage, moment_of
from ..text.normalising import content_hash
from .lexical_port import LexicalRecord


def lexical_record(passage: Passage) -> LexicalRecord:
    """Text, context, and the session that it belongs to."""
    return LexicalRecord(
        key=key_of(passage),
        content_hash=lexical_hash(passage),
        text=indexed_text(passage),
        context=context_text(passage),
        session=session_of(passage),
        at=_place_in_session(passage),
    )


def lexical_hash(passage: Passage) -> str:
    """Changes with whatever the index of words holds of it."""
    # That a note was saved again, or begins further down, means nothing: its id tells its words.
    at = moment_of(passage).isoformat() if isinstance(passage, StoredMemory) else ""
    parts = (at, session_of(passage), indexed_text(passage), context_text(passage))
    return content_hash("\n".join(parts))


def session_of(passage: Passage) -> str:
    """What was said in a conversation on one day belongs together, and so does a note."""
    if isinstance(passage, StoredMemory):
        memory = passage.memory
        day = shown_day(memory.created_at, memory.memory_id)
        return f"{memory.provenance.conversation} {day}"
    return passage.path


def _place_in_session(passage: Passage) -> float:
    """When it was said; in a note the number of the line, which is no time to be asked for."""
    if isinstance(passage, StoredMemory):
        return passage.memory.created_at.timestamp()
    return float(passage.first)
