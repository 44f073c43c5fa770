"""Questions for all of a topic: what do I like, what must you do, what is still to do. Pure.

A sentence counts whole or not at all: one that merely holds the word (任务栏怎么打开, I like this
song) asks for something else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from ....models.data_models import Topic
from ....text.lazy_pattern import LazyPattern
from .topic_chinese import AFTER, CHINESE, CHINESE_DONE
from .topic_english import ENGLISH, ENGLISH_DONE

_LONGEST = 80
"""Characters of a sentence that is looked at: who asks for a topic asks shortly."""
_BEFORE = re.compile(
    r"^(?:(?:请问|请|麻烦|那么?|嗯+|哦+|对了|话说|顺便问一下|你好|帮我|所以|现在)\s*)*|"
    r"^(?:(?:hey|hi|hello|ok|okay|so|well|and|please|now|by the way|remind me)[, ]+)+",
)
_AFTER = re.compile(r"(?: (?:again|please|exactly|so far|at the moment|then))+$")
_SENTENCES = re.compile(r"[。!?;:\n~…]+|\.+(?=\s|$)")
_PARTS = re.compile("[,、]+")
"""Both as NFKC leaves the signs."""
_FRAME = LazyPattern(
    r"\s*(?:在|关于|对于|如果|要是|当|除了|(?:in|for|about|when|if|during|besides)\b)"
)
"""What stands behind it in a sentence is asked of that alone: 在这部电影里，我最喜欢哪个场景."""


@dataclass(frozen=True, slots=True)
class TopicQuestion:
    """What is asked for.

    Attributes:
        topic: Its file is read.
        narrowed: A part of it (我喜欢吃什么): what speaks of that part comes first.
        done: Of tasks those that are done, in the place of those that are not.
    """

    topic: Topic
    narrowed: bool
    done: bool = False


def _one(pattern: str, after: str = "") -> LazyPattern:
    return LazyPattern(f"(?:{pattern}){after}", re.IGNORECASE)


_QUESTIONS = (
    *(
        (TopicQuestion(topic, narrowed), _one(pattern, after))
        for table, after in ((CHINESE, AFTER), (ENGLISH, ""))
        for topic, narrowed, pattern in table
    ),
    *(
        (TopicQuestion(Topic.TASKS, narrowed=False, done=True), _one(pattern, after))
        for table, after in ((CHINESE_DONE, AFTER), (ENGLISH_DONE, ""))
        for pattern in table
    ),
)


def topic_questions(text: str) -> tuple[TopicQuestion, ...]:
    """What its sentences ask for, at most one a topic; empty for any other text."""
    found: dict[Topic, TopicQuestion] = {}
    for words in bare_sentences(text):
        asked = next((one for one, pattern in _QUESTIONS if pattern.fullmatch(words)), None)
        if asked is not None and (asked.topic not in found or not asked.narrowed):
            found[asked.topic] = asked
    return tuple(found.values())


def bare_sentences(text: str) -> Iterator[str]:
    """The short sentences of a text, folded, without greetings before and fillers behind. What
    stands behind a frame (在这部电影里) is left out: it is asked of that alone."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    for sentence in _SENTENCES.split(folded):
        for part in _PARTS.split(sentence):
            if _FRAME.match(part):
                break
            words = " ".join(part.split())
            if words and len(words) <= _LONGEST:
                yield _AFTER.sub("", _BEFORE.sub("", words, count=1))
