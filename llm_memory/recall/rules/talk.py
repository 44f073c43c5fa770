"""What of the talk before belongs to a question. Pure.

``那他呢？`` asks for what was spoken of before. A person who tells a story says a part of it in
each message. And ``哈哈`` or ``好的`` asks for nothing, whatever was said before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto

from ...models.turns import NO_TALK, ContextLine, TalkUsed, Voice
from ...text.lazy_pattern import lazy_pattern
from ...text.normalising import one_line
from ...text.stated import ASKS_FOR, asks
from ...text.traditional import simplified
from ...text.turn_text import spoken
from ..asked_words import WORDS
from .asked import asked_for, is_empty, is_small_talk

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

_PERSON = re.compile(
    r"[他她它](?:们|俩)?|\b(?:he|him|his|she|her|hers|they|them|their|theirs)\b", re.IGNORECASE
)
_REFERS = re.compile(
    "[他她它](?:们|俩)?|[这那](?:个|位|次|天|边|里|儿|家|件|只|条|些|本|部|年|段|种|句|时候?)|"
    "后来|然后|[之以]后|接着|结果|还有|其他|其它|别的|另(?:外|一)|"
    r"\b(?:he|him|his|she|her|hers|it|its|they|them|their|theirs|that|those|this|these|there|then|"
    r"others?|else)\b",
    re.IGNORECASE,
)
_OF_US = re.compile(
    r"[我你您俺咱]|大家|人家|群|聊|日记|\b(?:i|me|my|you|your|we|us|our|everybody|everyone)\b",
    re.IGNORECASE,
)
"""What asks of the speaker, the bot or the whole talk points to no person who was spoken of."""
_OF_ONE = re.compile(r"我(?!们)|[你您俺]|\b(?:i|me|my|you|your)\b", re.IGNORECASE)


def _words(kind: str, more: str = "") -> str:
    longest_first = sorted(WORDS[kind]["zh"].split(), key=len, reverse=True)
    english = f"{WORDS[kind]['en']} {more}".split()
    return f"{'|'.join(longest_first)}|\\b(?:{'|'.join(english)})s?\\b"


_NAMES = _words("attributes")
_ATTRIBUTE = lazy_pattern(_NAMES, re.IGNORECASE)
_TOWARDS, _VERB = "[来去到走回]", f"[{WORDS['verbs']['zh']}]"
_ASKED = lazy_pattern(
    f"{_NAMES}|{_words('small', WORDS['verbs']['en'])}|"
    "哪[个种家位所款][\u4e00-\u9fff]{1,3}(?=\\W*$)|\\bwhich [a-z]+(?=\\W*$)|"
    f"(?:多少|[几哪第一两半])+[{WORDS['measures']}]{{1,2}}[钟钱]?|"
    f"{_TOWARDS}|(?<!{_VERB}){_VERB}(?!{_VERB})",
    re.IGNORECASE,
)
"""Of 开关 and 接送 no verb is heard: two together are a word of their own. 哪种语言 asks for
a language of what was spoken of, and so for no other subject."""
_YES_OR_NO = re.compile(
    "[吗有没]|^\\W*(?:is|are|was|do|does|did|has|have|can|will)\\b", re.IGNORECASE
)


class Leaning(Enum):
    """How a message stands to what was said before it."""

    NONE = auto()
    """It asks for nothing and says nothing: no context makes a question of it."""
    ADDS = auto()
    """It has a subject of its own, and the talk may say more of it."""
    CARRIES = auto()
    """It asks for something and names nothing: the talk is what is asked for."""


@dataclass(frozen=True, slots=True)
class Talk:
    """What was said before, as far as it belongs to the question.

    Attributes:
        topic: What the asker spoke of last, or quotes: the subject where the question has none.
        pointed: The same, short, where the question only points to whom it asks about: an embedder
            reads it in front of the question.
        around: All of it, the earliest first.
        used: What the trace says of it.
    """

    topic: str = ""
    pointed: str = ""
    around: str = ""
    used: TalkUsed = NO_TALK


def leaning_of(query: str, subject: str) -> Leaning:
    """``subject`` is the query without the times that it names."""
    query, subject = simplified(query), simplified(subject)
    empty = is_empty(subject)
    if not (empty or names_nothing(subject)):
        return Leaning.ADDS
    names_time = subject.strip() != query.strip()
    person = _PERSON.search(query)
    of_it = _ATTRIBUTE.search(query) and not _YES_OR_NO.search(query)
    asks_itself = (ASKS_FOR.search(query) or of_it) and (
        person or not (names_time or (empty and _OF_US.search(query)))
    )
    points = asks_itself or (empty and (person or (not names_time and _REFERS.search(query))))
    if asks(query) and points and not is_small_talk(query):
        return Leaning.CARRIES
    return Leaning.NONE if empty else Leaning.ADDS


def names_nothing(text: str) -> bool:
    """The same of words that ask for some property of what was spoken of, by anybody but it."""
    return is_empty(text) or (not _OF_ONE.search(text) and is_empty(_ASKED.sub("", text)))


def talk_for(query: str, subject: str, lines: Sequence[ContextLine], now: datetime) -> Talk:
    """What of ``lines``, the earliest first, is context of a question asked now."""
    leaning = leaning_of(query, subject)
    of_topic = asked_for(subject)
    if leaning is Leaning.NONE or (of_topic is not None and of_topic.topic):
        return Talk()
    heard: dict[Voice, list[str]] = {Voice.ASKER: [], Voice.BOT: [], Voice.QUOTED: []}
    for line in lines:
        if line.voice is Voice.QUOTED or abs(now - line.at) <= LONGEST_AGO:
            heard[line.voice].append(one_line(spoken(line.text)))
    own = _newest(heard[Voice.ASKER])
    parts = {
        Voice.ASKER: " ".join(own),
        Voice.BOT: "".join(heard[Voice.BOT][-1:])[:MOST_ANSWER],
        Voice.QUOTED: "".join(heard[Voice.QUOTED][-1:])[:MOST_CHARS],
    }
    parts = {voice: text for voice, text in parts.items() if text}
    said = (parts.get(Voice.QUOTED, ""), *reversed(own))
    before = next((text for text in said if not names_nothing(simplified(text))), "")
    around, used = " ".join(parts.values()), TalkUsed(tuple(parts))
    if leaning is Leaning.CARRIES:
        # Where nothing was named before either, there is nothing to ask for.
        carried = replace(used, carried=True)
        return Talk(before, before[-MOST_POINTED:], around, carried) if before else Talk()
    return Talk("", before[-MOST_POINTED:] if _points(query) else "", around, used)


def stands_alone(query: str, subject: str) -> bool:
    """True where an embedder is asked the query and nothing more, whatever was said before."""
    leaning = leaning_of(query, subject)
    return leaning is Leaning.NONE or (leaning is Leaning.ADDS and not _points(query))


def _points(query: str) -> bool:
    return bool(_PERSON.search(query)) and asks(query)


def _newest(lines: Sequence[str]) -> list[str]:
    """The last messages that fit, the earliest first."""
    kept: list[str] = []
    left = MOST_CHARS
    for text in reversed(lines[-MOST_LINES:]):
        if text and left > 0:
            kept.insert(0, text[-left:])
            left -= len(text)
    return kept
