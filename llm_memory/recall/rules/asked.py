"""What a message asks for, by its words alone: all of something, what lies on days, several things,
or nothing; and what of the talk before belongs to it. Pure.

Where beside times, small words and a head noun (任务 in 还有哪些任务没做) nothing is left, all that
the noun names is asked for; where something is (任务栏), it is a question as any other.
明天有什么安排 and "what's on tomorrow" ask for all that lies on a day; 1号要交什么 for what holds
a word of the question, too; 明天见 and 今天好累 for nothing. 那他呢 asks for what was spoken of
before; and 哈哈 or 好的 for nothing, whatever that was.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Final

from ...models.data_models import Topic
from ...models.turns import ContextLine, Voice
from ...text.dates.spans import TimeSpan
from ...text.normalising import one_line
from ...text.scripts import fold, simplified
from ...text.stated import asks, asks_what
from ...text.stop_words import CHINESE, ENGLISH
from ...text.turn_text import spoken
from ..patterns import HEADS, PATTERNS, says

MOST: Final = 3
"""Things of one message: each costs a search of its own."""
_LONGEST: Final = 80
"""Characters: who asks for all of something asks shortly."""
_LONGEST_NAME, _NAME_WORDS = 8, 3
"""Han characters; other words."""
_WHOSE: Final = 2
"""Words that may say whose days are asked for."""
LONGEST_AGO: Final = timedelta(minutes=30)
"""What was said before is no context: a person who comes back begins anew."""
MOST_LINES: Final = 3
"""Earlier messages of the asker."""
MOST_CHARS, MOST_ANSWER, MOST_POINTED = 200, 100, 60
"""Of the asker's earlier messages together, the newest first, and of a quoted message; of the bot's
answer, which says more words than it was asked with; and of what a question points to, for an
embedder: the time that it takes grows with each one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for, whole: the file of a ``topic``, of tasks those that are ``done`` or those
    that are not; without one all that is known of a person. ``name``: folded, of whom it is asked
    about, empty for the asker, or nobody. ``each``: where nobody has the name, each who has or is
    what it says, 谁有过敏."""

    topic: Topic | None
    done: bool = False
    name: str = ""
    each: bool = False


@dataclass(frozen=True, slots=True)
class OfDays:
    """What is asked of the days: ``all`` that lies on them, or what holds one of ``left``, of the
    words beside those that ask, folded; where not all is asked for, characters and
    beginnings. ``own``: of the asker's own days, where whatever lies on the very day may matter."""

    all: bool
    left: tuple[str, ...] = ()
    own: bool = False

    def holds(self, text: str) -> bool:
        """Whether a folded text holds one of ``left``."""
        return any(
            re.search(rf"(?<![^\W_]){re.escape(part)}", text) if part.isascii() else part in text
            for part in self.left
        )


EVERYTHING: Final = OfDays(all=True)


def without_times(query: str, spans: Sequence[TimeSpan]) -> str:
    """What is asked apart from when."""
    ends = (0, *(span.last for span in spans))
    starts = (*(span.first for span in spans), len(query))
    return " ".join(query[end:start] for end, start in zip(ends, starts, strict=True))


def is_about_time_alone(subject: str) -> bool:
    """True for what is left of 昨天聊了什么 without the time: nothing that an entry could hold."""
    return not PATTERNS["nothing"].sub("", subject)


def is_empty(text: str) -> bool:
    """True for a message that names nothing: only words that point, ask or connect."""
    return is_about_time_alone(text) or is_about_time_alone(PATTERNS["connecting"].sub("", text))


def asked_for(subject: str) -> Asked | None:
    """What a message asks for, given without the times that it names; None where it asks for
    something of its own. Of a name it is not known here whether anybody has it."""
    text = _plain(subject)
    found, left = _parted(text)
    name, own, is_person = " ".join(left), says("own", text), "person" in found
    of_another = own and not is_person if name else says("of_others", text)
    if not text or len(text) > _LONGEST or of_another or not _may_be_name(left):
        return None
    topics = [one for one in Topic if one in found]
    if len(topics) == 1:
        (topic,) = topics
        of_bot = topic is Topic.TASKS and says("to_the_bot", text)
        is_nobodys = not (name or own) and (of_bot or topic is Topic.PREFERENCES)
        return None if is_nobodys else Asked(topic, _is_done(found, text), name)
    each = bool(name) and says("each", text)
    of_people = (each or is_person) and (name or own) and not says("negated", text)
    return Asked(None, name=name, each=each) if of_people and not topics else None


def asked_of_days(
    subject: str, *, asks: bool, ahead: bool = False, past: bool = False
) -> OfDays | None:
    """What a message asks of the days it names, given without them; None for nothing. ``asks``: its
    form is a question's, or it was looked for; ``ahead``: the days are to come, and nobody greets
    with them; ``past``: who says more than a day that is over asks what was, not for all."""
    text = _plain(subject)
    found, left = _parted(text)
    if not (asks or PATTERNS["noun"].match(text)) or says("no_plans", text):
        return None
    if says("small_talk", text) and not (ahead and says("asks", text)):
        return None
    if is_about_time_alone(text):
        return EVERYTHING
    own = says("own", text)
    if _is_done(found, text) or (says("of_the_bot", text) and not (own or left)):
        return None
    # Beside what asks for days to come stands whose they are, and little else.
    few = len(left) <= (0 if past else _WHOSE)
    plans = few and not found.isdisjoint({"days", Topic.TASKS})
    if plans or (not left and says("asks", text)):
        return OfDays(True, tuple(left), few and own)
    parts = (part for one in left for part in ([one[:4]] if one.isascii() else one))
    return OfDays(False, tuple(parts), few and own) if left else None


def _parted(text: str) -> tuple[set[str], list[str]]:
    """The kinds of the words that ask, of a folded text, and its other words but small ones."""
    small, text = _small(), PATTERNS["open"].sub(" todo open ", text)
    words = PATTERNS["word"].findall(small.sub(" ", text))
    heads, found = HEADS["en"], {HEADS["zh"].get(word, "") for word in small.findall(text)}
    found |= {heads.get(word, "") for word in words}
    known = heads.keys() | ENGLISH
    others = [one for one in words if one not in known and one.partition("'")[0] not in ENGLISH]
    return found, [word.removesuffix("'s") for word in others]


def _is_done(found: Collection[str], text: str) -> bool:
    """Whether tasks are asked for that are done."""
    open_ones = says("negated", text) or says("open", text)
    return Topic.TASKS in found and "done" in found and not open_ones


def parts_of(message: str) -> tuple[str, ...]:
    """Several where the message asks for several things that it names, else the message alone:
    also where it tells more than it asks. A clause that asks for nothing belongs to the one before
    it, or to the first."""
    clauses = [*filter(str.strip, PATTERNS["clause_ends"].split(message))]
    asking = {one for one in clauses if asks(one) and not is_empty(one)}
    parts: list[str] = []
    before = ""
    for clause in clauses:
        if len(parts) < MOST and clause in asking:
            parts.append((before + clause).strip())
            before = ""
        elif parts:
            parts[-1] += clause
        else:
            before += clause
    return tuple(parts) if len(parts) > 1 and 2 * len(asking) > len(clauses) else (message,)


def only_asks(text: str) -> bool:
    """True where every sentence asks for something: it is no answer to a question."""
    return all(asks(one) for one in PATTERNS["sentence_ends"].split(text) if one.strip())


def _plain(subject: str) -> str:
    return fold(subject).replace("’", "'").strip()


def _may_be_name(words: list[str]) -> bool:
    if says("han", "".join(words)):
        return len(words) == 1 and len(words[0]) <= _LONGEST_NAME
    return len(words) <= _NAME_WORDS


@cache
def _small() -> re.Pattern[str]:
    """Small words and heads, the longest first; of 你知道 and 吃什么 the verb is heard."""
    heads = HEADS["zh"]
    small = (word for word in CHINESE if not any(head in word for head in heads))
    words = sorted({*heads, *small} - {"吃什么"}, key=len, reverse=True)
    # 过敏 and 过期 are words of their own.
    return re.compile("|".join(map(re.escape, words)).replace("|过|", "|过(?![敏期年节户程])|"))


@dataclass(frozen=True, slots=True)
class Talk:
    """What was said before, as far as it belongs to the question: ``around``, the earliest first,
    by these ``voices``. ``topic``: what the asker spoke of last, or quotes, where it is ``carried``
    to a question that has no subject of its own. ``pointed``: the same, short, also where a
    question only points to whom it asks about; an embedder reads it in front of the question."""

    topic: str = ""
    pointed: str = ""
    around: str = ""
    voices: tuple[Voice, ...] = ()
    carried: bool = False


def asks_of_talk(query: str, subject: str) -> bool:
    """Whether a message asks for something and names nothing: the talk before is what is asked for.
    ``subject`` is the query without the times that it names."""
    if not names_nothing(subject) or says("small_talk", query) or not asks(query):
        return False
    empty, person = is_empty(subject), says("person", query)
    names_time = subject.strip() != query.strip()
    points = empty and (person or (not names_time and says("refers", query)))
    if asks_what(query) or (says("attribute_asked", query) and not says("yes_or_no", query)):
        return points or person or not (names_time or (empty and says("of_talkers", query)))
    return points


def names_nothing(text: str) -> bool:
    """True for words that name nothing, or ask for some property of what was spoken of, by anybody
    but it."""
    left = PATTERNS["asks_of_it"].sub("", text)
    return is_empty(text) or (not says("of_one", text) and is_empty(left))


def talk_for(query: str, subject: str, lines: Sequence[ContextLine], now: datetime) -> Talk:
    """What of ``lines``, the earliest first, is context of a question asked now."""
    query, subject = simplified(query), simplified(subject)
    carried, whole = asks_of_talk(query, subject), asked_for(subject)
    asks_for_nothing = not carried and is_empty(subject)
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
    named = (one for one in (quoted, *reversed(own)) if not names_nothing(one))
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
