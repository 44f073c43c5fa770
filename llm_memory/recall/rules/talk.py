"""What of the talk before belongs to a question. Pure.

``那他呢？`` asks for what was spoken of before. A person who tells a story says a part of it in
each message. And ``哈哈`` or ``好的`` asks for nothing, whatever was said before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...models.turns import ContextLine, Voice
from ...text.normalising import one_line
from ...text.stated import ASKS_FOR, asks
from ...text.traditional import simplified
from ...text.turn_text import spoken
from ..patterns import PATTERNS, says
from .asked import asked_for, is_empty

LONGEST_AGO = timedelta(minutes=30)
"""What was said before is no context: a person who comes back begins anew."""
MOST_LINES = 3
"""Earlier messages of the asker."""
MOST_CHARS = 200
"""Of the asker's earlier messages together, the newest first; and of a quoted message."""
MOST_ANSWER = 100
"""Of the bot's answer, from its beginning: it says more words than it was asked with."""
MOST_POINTED = 60
"""Of what a question points to, for an embedder: the time that it takes grows with each one."""


@dataclass(frozen=True, slots=True)
class Talk:
    """What was said before, as far as it belongs to the question.

    Attributes:
        topic: What the asker spoke of last, or quotes: the subject where the question has none.
        pointed: The same, short, where the question only points to whom it asks about: an embedder
            reads it in front of the question.
        around: All of it, the earliest first.
        voices: Whose words it holds, each once.
        carried: The question had no subject of its own: the talk was what was asked for.
    """

    topic: str = ""
    pointed: str = ""
    around: str = ""
    voices: tuple[Voice, ...] = ()
    carried: bool = False


def asks_of_talk(query: str, subject: str) -> bool:
    """Whether a message asks for something and names nothing: the talk before is what is asked for.
    ``subject`` is the query without the times that it names."""
    query, subject = simplified(query), simplified(subject)
    if not names_nothing(subject) or says("small_talk", query) or not asks(query):
        return False
    empty, person = is_empty(subject), says("person", query)
    names_time = subject.strip() != query.strip()
    points = empty and (person or (not names_time and says("refers", query)))
    if ASKS_FOR.search(query) or (says("attribute_asked", query) and not says("yes_or_no", query)):
        return points or person or not (names_time or (empty and says("of_talkers", query)))
    return points


def names_nothing(text: str) -> bool:
    """True for words that name nothing, or ask for some property of what was spoken of, by anybody
    but it."""
    left = PATTERNS["asks_of_it"].sub("", text)
    return is_empty(text) or (not says("of_one", text) and is_empty(left))


def talk_for(query: str, subject: str, lines: Sequence[ContextLine], now: datetime) -> Talk:
    """What of ``lines``, the earliest first, is context of a question asked now."""
    carried, whole = asks_of_talk(query, subject), asked_for(subject)
    asks_for_nothing = not carried and is_empty(simplified(subject))
    if asks_for_nothing or (whole is not None and whole.topic):
        return Talk()
    heard = {voice: list[str]() for voice in Voice}
    for line in lines:
        if line.voice is Voice.QUOTED or abs(now - line.at) <= LONGEST_AGO:
            heard[line.voice].append(one_line(spoken(line.text)))
    own = _newest(heard[Voice.ASKER])
    quoted = "".join(heard[Voice.QUOTED][-1:])[:MOST_CHARS]
    texts = (" ".join(own), "".join(heard[Voice.BOT][-1:])[:MOST_ANSWER], quoted)
    parts = {voice: text for voice, text in zip(Voice, texts, strict=True) if text}
    named = (one for one in (quoted, *reversed(own)) if not names_nothing(simplified(one)))
    before = next(named, "")
    if carried and not before:  # where nothing was named either, there is nothing to ask for
        return Talk()
    pointed = before[-MOST_POINTED:] if carried or (says("person", query) and asks(query)) else ""
    around = " ".join(parts.values())
    return Talk(before if carried else "", pointed, around, tuple(parts), carried)


def _newest(lines: Sequence[str]) -> list[str]:
    """The last messages that fit, the earliest first."""
    kept: list[str] = []
    left = MOST_CHARS
    for text in reversed(lines[-MOST_LINES:]):
        if text and left > 0:
            kept.insert(0, text[-left:])
            left -= len(text)
    return kept
