"""Which of several statements of one thing comes first: the newest; of history the oldest. Pure.

What somebody said in March is no lie because it was said otherwise in May; but who reads both
without a hint takes the first for the answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Final

from ..models.data_models import StoredMemory
from .change_questions import Wanted, states_a_change
from .closing import closed_by
from .numerals import HAN_NUMERALS
from .ranking import Candidate, Sifted
from .reflection_guards import content
from .timeline import is_digest

_LOOKED_AT: Final = 20
"""Of the best: what stands further back is hardly shown."""
_SHARED: Final = 0.5
"""Of the content of the shorter one."""
_LEAST: Final = 3
"""Shared, where a Han character counts one and a word two."""
_NEARLY: Final = 0.6
"""This part of the older one's match is asked of what says something newer: it answers, too."""
_BEGINNING: Final = 12
"""Bytes that two statements of one thing begin with, where the newer one does not say that it
changed: four Han characters, or two words."""
_VALUE: Final = re.compile(
    rf"(?<![第0-9])[0-9]+|(?<![第{HAN_NUMERALS}])[{HAN_NUMERALS}]+(?=[号日点月楼岁块元年个次斤])|"
    r"(?<=[周期拜])[一二三四五六日天末]+|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day",
    re.IGNORECASE,
)
"""What may change of a thing. 第三 says which of several it is: 第三件 is not 第四件 of before."""


_ASKS_FOR: Final = re.compile(
    r"谁|哪|什么|啥|咋|几|多[少久大远长]|怎么|\b(?:who|whose|what|which|where|when|how)\b",
    re.IGNORECASE,
)
_PIECE: Final = re.compile(r"[0-9A-Za-z']+|\S")


@dataclass(frozen=True, slots=True)
class _Statement:
    """A memory among the candidates, by the place at which it stands."""

    place: int
    stored: StoredMemory
    about: frozenset[str]
    match: float

    def is_before(self, other: _Statement, wanted: Wanted, question: str) -> bool:
        """Whether ``other`` says something newer of the same thing."""
        old, new = self.stored.memory, other.stored.memory
        if other.match < _NEARLY * self.match:
            return False
        if old.created_at >= new.created_at or new.quoted or is_digest(new) or closed_by(new):
            return False
        if self.about == other.about or not _speak_of_one_thing(self.about, other.about):
            return False
        if _is_of_another(old.judgment, new.judgment, question):
            return False
        if wanted is not Wanted.ANY or states_a_change(new.judgment):
            return True
        return _differ_in_a_value(old.judgment, new.judgment)


def newest_first(sifted: Sifted, wanted: Wanted, question: str = "") -> Sifted:
    """The relevant ones, none before what says something newer of the same thing; for history, none
    before what is older. What has a newer one is ``earlier`` either way.

    Where the question does not ask for either, the newer one has to say itself that something
    changed, or both begin alike and differ in a number or a day. What is told of another than the
    one whom the question names is no newer statement.
    """
    known = {
        place: _Statement(place, passage, content(passage.memory.judgment), _match(candidate))
        for place, candidate in enumerate(sifted.best[:_LOOKED_AT])
        if isinstance(passage := candidate.passage, StoredMemory)
    }
    newer = {
        place: [other for other in known.values() if one.is_before(other, wanted, question)]
        for place, one in known.items()
    }
    older = {
        place: [one for one in known.values() if known[place] in newer[one.place]]
        for place in known
    }
    is_history = wanted is Wanted.HISTORY
    first = older if is_history else newer
    order: dict[int, None] = {}
    for place in range(len(sifted.best)):
        ahead = sorted(
            first.get(place, ()),
            key=lambda one: one.stored.memory.created_at,
            reverse=not is_history,
        )
        order.update(dict.fromkeys((*(one.place for one in ahead), place)))
    best = [
        replace(sifted.best[place], earlier=True) if newer.get(place) else sifted.best[place]
        for place in order
    ]
    return Sifted(best, sifted.below)


def _match(candidate: Candidate) -> float:
    """How well its words answer: 月底 in the question lifts what says 月底, newer or not."""
    return candidate.order / candidate.factor if candidate.factor > 0 else candidate.order


def _is_of_another(old: str, new: str, question: str) -> bool:
    """Whether they differ in what the question names, and in what it asks for: of Jack, who is 8,
    and of Mark, who is 5."""
    if not _ASKS_FOR.search(question):
        return False
    before, after = _PIECE.findall(old), _PIECE.findall(new)
    steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    replaced = [before[first:last] for step, first, last, *_ in steps if step == "replace"]
    asked = "\0".join(["", *_PIECE.findall(question), ""])
    return len(replaced) > 1 and any(
        _weight(pieces) > 1
        and not _VALUE.fullmatch("".join(pieces))
        and "\0".join(["", *pieces, ""]) in asked
        for pieces in replaced
    )


def _speak_of_one_thing(one: Collection[str], other: Collection[str]) -> bool:
    shared = _weight(set(one) & set(other))
    return shared >= _LEAST and shared >= _SHARED * min(_weight(one), _weight(other))


def _weight(words: Collection[str]) -> int:
    return sum(1 + word.isascii() for word in words)


def _differ_in_a_value(one: str, other: str) -> bool:
    """Whether both begin alike and name other numbers or days: 排练在周三, 排练在周日."""
    if one.encode()[:_BEGINNING] != other.encode()[:_BEGINNING]:
        return False
    values, others = _VALUE.findall(one), _VALUE.findall(other)
    return bool(values) and bool(others) and values != others
