"""Questions for all that is known of a person: 你知道我什么, 介绍一下大伟, who is Ann. Pure.

As with topics, a sentence counts whole or not at all.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from ....models.data_models import MemoryKind, StoredMemory
from ....models.passages import Passage
from ....text.lazy_pattern import LazyPattern
from ....text.overlap import fold
from .topic import bare_sentences
from .topic_chinese import AFTER

_ME: Final = frozenset({"我", "咱", "俺", "我自己", "我这个人", "me", "myself", "i"})
_WHO = r"(?P<who>(?!你|您|他|她|它|这|那|什么|谁|哪|啥|一下|最|第)[^\W_][\w .'·-]{0,19}?)"
_TELL = "(?:给我|给大家|跟我|和我)?(?:介绍|说说|讲讲|聊聊|谈谈|描述)(?:一下|下)?"
_KNOW = "(?:都|还|了)*(?:知道|记得|了解|记住|记着|晓得)(?:了|过)?"
_WHAT = "(?:什么|些什么|啥|些啥|哪些|多少)(?:事情?|信息|情况|东西)?"
_CHINESE: Final = (
    f"{_TELL}{_WHO}(?:这个人|的情况|的为人)?",
    f"你?{_KNOW}{_WHO}的?{_WHAT}",
    f"你?对{_WHO}(?:有)?(?:{_KNOW}|多)?(?:多少|{_WHAT}|了解|印象如何|印象怎么样|有什么印象)",
    f"{_WHO}(?:到底|究竟)?(?:是谁|是哪位|是什么人|是个?(?:什么样|怎样|怎么样)的人|这个人(?:怎么样|如何))",
    f"谁是{_WHO}",
    f"你?(?:还|认不)*(?:认识|认得|记得){_WHO}(?=吗|么|不)不?",
)
_ENGLISH: Final = (
    rf"(?:what|how much) (?:do|did) you (?:know|remember|learn) (?:about|of) {_WHO}",
    rf"(?:tell (?:me|us)|introduce)(?: (?:everything|all|what)(?: you know)?)?(?: about)? {_WHO}",
    rf"(?:who is|who's|who was|who am) {_WHO}",
    rf"do you (?:know|remember) (?:who )?{_WHO}(?: is| am)?",
)
_QUESTIONS: Final = (
    *(LazyPattern(f"(?:{pattern}){AFTER}", re.IGNORECASE) for pattern in _CHINESE),
    *(LazyPattern(f"(?:{pattern})", re.IGNORECASE) for pattern in _ENGLISH),
)
_IN_TIME: Final = frozenset({MemoryKind.EVENT, MemoryKind.TASK})
"""What was on one day, or is to be done: it comes after what holds."""


def person_asked(text: str) -> str | None:
    """The name of the one who is asked about, ``me`` for the asker; None for other texts."""
    for sentence in bare_sentences(text):
        for pattern in _QUESTIONS:
            if (found := pattern.fullmatch(sentence)) is not None:
                who = found["who"].strip()
                return "me" if who in _ME else who
    return None


@dataclass(frozen=True, slots=True)
class About:
    """Whom a question is about.

    Attributes:
        names: Folded; what a memory calls the person.
        persons: The ids under which the person speaks; empty for none that is known.
    """

    names: frozenset[str]
    persons: frozenset[str] = frozenset()

    def known(
        self,
        memories: Iterable[tuple[StoredMemory, str]],
        most: int,
    ) -> dict[Passage, float]:
        """The first ``most`` of what tells of the person, and how it is ordered: facts before
        events, what begins with the name before what holds it and what the person said, then the
        newest. ``memories`` have their folded text with them.

        Empty for a name that no speaker has, and with which no memory begins: then it is the
        name of a thing, and what merely holds the word is no answer.
        """
        found: list[tuple[StoredMemory, float]] = []
        is_person = bool(self.persons)
        words = [word for name in self.names for word in name.split()[:1]]
        for memory, text in memories:
            # Speaker and judgment are in the text: where it lacks the name, none of them has it.
            may_tell = any(word in text for word in words)
            may_tell = may_tell or memory.memory.provenance.person in self.persons
            if may_tell and (about := self._about(memory, text)):
                found.append((memory, about))
                is_person |= about != _HOLDS
        if not is_person:
            return {}
        newest = max((one.memory.created_at.timestamp() for one, _ in found), default=1.0)
        orders = (
            (
                one,
                1.0
                + 10.0 * (one.memory.kind not in _IN_TIME)
                + about
                + one.memory.created_at.timestamp() / max(newest, 1.0),
            )
            for one, about in found
        )
        return dict(heapq.nlargest(most, orders, key=itemgetter(1)))

    def _about(self, stored: StoredMemory, folded: str) -> float:
        judgment = fold(stored.memory.judgment)
        if any(judgment.startswith(name) for name in self.names):
            return _BEGINS
        if any(_holds(folded, name) for name in self.names):
            return _HOLDS
        said_by = stored.memory.provenance.person in self.persons
        return _SAID if said_by or fold(stored.memory.who) in self.names else 0.0


_BEGINS, _HOLDS, _SAID = 6.0, 4.0, 2.0


def _holds(text: str, name: str) -> bool:
    """Whether a name stands in a text; one in Latin letters as a whole word."""
    if name.isascii():
        return re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text) is not None
    return name in text
