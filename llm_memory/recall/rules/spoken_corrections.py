"""Recognises by its words alone what corrects an earlier statement. Pure.

The reflection decides what they correct. Until then the old statement stands as it was,
and may share far more words with a question than the few that change it: 盘点又改了，提前到28号.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from ...catalogue.rules.closing import closed_by
from ...catalogue.rules.timeline import is_digest
from ...index.rules.deduplication import same_speaker
from ...models.data_models import Memory
from ...text.content_words import CHANGED, content
from ...text.dates.expressions import find_times
from ...text.numerals import HAN_NUMERALS
from .salience import without_times

_MOST: Final = 2 / 3
"""Of the words of the thing the old statement has, where a Han character counts one, a word two."""
_LEAST: Final = 2
_HALF: Final = 0.5
"""So much of the old statement is spoken of by what gives no new value: 聚餐取消了."""
_CLAUSE_ENDS: Final = re.compile(r"[，,。；;！!？?\n]|\.(?!\w)|说|\bsa(?:id|ys)\b", re.IGNORECASE)
_NO_THING: Final = re.compile(
    rf"[0-9{HAN_NUMERALS}]+(?:[点号日月时分]半?|[:：][0-9]+)|早上|上午|中午|下午|傍晚|晚上|夜里|凌晨|时间|日期|地[点方]|原[来定]|[那这][件个次回场](?:事情?)?|"
    r"\b(?:mornings?|afternoons?|evenings?|nights?|times?|dates?|places?|actually|again|o'clock|"
    r"got|gets?|been|being|will|let'?s)\b",
    re.IGNORECASE,
)
_TARGET: Final = re.compile(r"[到在成为至]|\b(?:to|from|for|until|till)\b", re.IGNORECASE)
_GOING: Final = re.compile("[去来回]")
"""What a person does then, and not the person, is what changed: 外婆改到周日去茶园."""
_MEETING: Final = re.compile("(?<=[\u4e00-\u9fff])会\\s*$")
"""No auxiliary, but the end of a name: 例会."""
_ELSEWHERE: Final = re.compile("[改挪移](?:到|在)")
VALUE: Final = re.compile(
    rf"(?<![第0-9])[0-9]+|(?<![第{HAN_NUMERALS}])[{HAN_NUMERALS}]+(?=[号日点月楼岁块元年个次斤])|"
    r"(?<=[周期拜])[一二三四五六日天末]|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day",
    re.IGNORECASE,
)
"""What may change of a thing. 第三 says which of several it is: 第三件 is not 第四件 of before."""


@dataclass(frozen=True, slots=True)
class SpokenCorrection:
    """A statement that something changed.

    Attributes:
        thing: What changed, see ``content``.
        pairs: Han characters of its name that stand together, and its words.
    """

    memory: Memory
    thing: frozenset[str]
    pairs: frozenset[str]
    values: frozenset[str]

    @classmethod
    def of(cls, memory: Memory) -> SpokenCorrection | None:
        """None where nothing is said to have changed, or it is not said what."""
        if memory.quoted or is_digest(memory) or closed_by(memory):
            return None
        text, before = memory.judgment, ""
        plain = without_times(text, find_times(text, memory.created_at, prefer_past=False))
        names = content(memory.provenance.who)
        for clause in _CLAUSE_ENDS.split(plain):
            change = CHANGED.search(clause)
            for words in _named(clause, change, before) if change else ():
                thing = (content(words) | set(_MEETING.findall(words))) - names
                if weight(thing) >= _LEAST:
                    values = frozenset(map(str.lower, VALUE.findall(text)))
                    return cls(memory, thing, _pairs(words, thing), values)
            before = clause
        return None

    def corrects(self, old: Memory) -> bool:
        """Whether it says that ``old`` holds no more. Nobody corrects what another is trusted to
        have said."""
        if old.created_at >= self.memory.created_at:
            return False
        if old.provenance.trusted and not same_speaker(old, self.memory):
            return False
        about = content(old.judgment) | (self.thing & {"会"} & set(old.judgment))
        shared = weight(self.thing & about)
        if shared < _LEAST or shared < _MOST * weight(self.thing):
            return False
        if not any(pair in old.judgment.casefold() for pair in self.pairs):
            return False
        known = frozenset(map(str.lower, VALUE.findall(old.judgment)))
        if (known and self.values - known) or _ELSEWHERE.search(self.memory.judgment):
            return True
        return shared >= _HALF * weight(about)


def _named(clause: str, change: re.Match[str], before: str) -> Iterator[str]:
    """Where a thing may be named of which a clause tells a change: before that, or behind, or just
    now."""
    behind = clause[change.end() :]
    found = [clause[: change.start()], _TARGET.split(behind, maxsplit=1)[0], before]
    if _GOING.search(behind):
        found = [CHANGED.sub(" ", clause)]
    return (_NO_THING.sub(" ", words) for words in found)


def weight(words: Collection[str]) -> int:
    """A Han character counts one, a word two."""
    return len(words) + sum(map(str.isascii, words))


def _pairs(text: str, thing: frozenset[str]) -> frozenset[str]:
    plain = text.casefold()
    wide = {one + other for one, other in pairwise(plain) if {one, other} <= thing}
    return frozenset(wide | {word for word in thing if word.isascii()})
