"""What is searched for words, what is asked of it, and what is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from ..catalogue.rules.passage_text import context_text, indexed_text
from ..models.data_models import StoredMemory, shown_day
from ..models.passages import Key, Passage, passage_id, place_name
from ..text.normalising import content_hash

_HASH_DIGITS: Final = 32
"""Of 64: one is kept in memory for each record."""


@dataclass(frozen=True, slots=True)
class WordRecord:
    """What is searched for words.

    Attributes:
        key: Where it is kept; ids are opaque.
        content_hash: Changes with whatever stands here.
        text: What is said, its speaker in front.
        context: What stands around it: the message before, the reason. May be empty.
        session: Names what belongs together, inside its scope: a conversation's day, a file.
        at: Its place in the session, POSIX seconds; of equals the one written first comes first.
    """

    key: Key
    content_hash: str
    text: str
    context: str = ""
    session: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class WordQuery:
    """``text`` is looked for. ``subject`` is what an answer has to speak of: the text without
    words that name a time, for an entry's date answers those. ``around`` was said before it: it
    counts for the order alone, and less. ``carried``: the subject is a message of that talk, of
    which an answer need not speak as of a question. ``persons``: the names of each person whom the
    subject is about besides: what holds one of them speaks of the person, and of no ``asker`` by
    that alone."""

    text: str
    subject: str
    around: str = ""
    carried: bool = False
    persons: Sequence[Sequence[str]] = ()
    asker: Sequence[str] = ()


class WordMatch(NamedTuple):
    """A record that shares words with a query.

    Attributes:
        score: 0 to 1, for the order: 1 is the best of this answer.
        text: The same of what the record itself says, whatever stands around it.
        coverage: 0 to 1, absolute: how much of the subject the record and its context speak of.
    """

    key: Key
    score: float
    text: float
    coverage: float


@dataclass(frozen=True, slots=True)
class WordMatches:
    """Best first. ``holding`` counts the visible records whose text holds every word of the
    subject, however many are among the best."""

    found: tuple[WordMatch, ...] = ()
    holding: int = 0


def word_record(passage: Passage) -> WordRecord:
    """What the index of words holds of a passage. What was said in a conversation on one day
    belongs together, and so does a note."""
    text, context = indexed_text(passage), context_text(passage)
    if isinstance(passage, StoredMemory):
        memory = passage.memory
        day = shown_day(memory.created_at, memory.memory_id)
        session, said = f"{memory.provenance.conversation} {day}", memory.created_at.isoformat()
        at = memory.created_at.timestamp()
    else:
        # Of a note the number of the line, which is no time to be asked for; that it was saved
        # again, or begins further down, means nothing: its id tells its words.
        session, said, at = passage.path, "", float(passage.first)
    digest = content_hash("\n".join((said, session, text, context)))[:_HASH_DIGITS]
    return WordRecord(
        Key(place_name(passage), passage_id(passage)), digest, text, context, session, at
    )
