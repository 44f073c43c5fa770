"""Whether a new statement takes back an older one of the same subject. Pure.

A wrong replacement hides what is true. It is certain only where two statements are the same word
for word but for a negation, or but for one number or date at the end of the clause. Other
statements that are nearly the same may be a conflict, and a person decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from enum import IntEnum
from typing import Final

from ...text.same_meaning import LIGHT, NEGATIONS
from ...text.statements import Statement, Words, agree, statement

_COMPARED: Final = 60
"""Words of a clause: the time goes by their square."""
_LEAST: Final = 3
"""Shared, where a Han character counts one and a word two."""
_SHARED: Final = 0.6
"""Of the shorter statement, for what may be a conflict."""

_VALUE: Final = re.compile(r"v?[0-9][0-9A-Za-z.:/_%°+-]*", re.IGNORECASE)
"""A number, date, time or version, as ``statement`` writes it."""
_IS: Final = re.compile(
    r"[^，,;；。！!\n]*?(?:[是为]|(?<![0-9])[:：=]|\b(?:is|are)\b)", re.IGNORECASE
)
"""A first clause that tells the value of a thing: 预算是 3000 元."""
_UNITS: Final = frozenset(
    """
个 人 天 日 号 月 年 周 点 分 秒 时 小 钟 元 块 万 千 百 次 条 台 岁 倍 页 行 层 楼 米 公 斤 里 升 %
days day hours hour minutes minute seconds second weeks week months month years year people users
times requests lines pages mb gb kb tb ms s m h km kg cm percent dollars euros yuan am pm 上午 下午
""".split()  # noqa: SIM905
)
_AUXILIARIES: Final = frozenset({"do", "does", "did"})


_CORRECTED: Final = re.compile(
    r"(?:^|(?<=[，,。；;！!.\n]))\s*(?:(?:我|之前|上次|刚才|刚刚|前面)*[记说写搞弄]错了?|更正|纠正|订正|勘误|"
    r"correction|i was wrong|my mistake)(?:一下)?\s*(?:[：:，,。；;！!.\n]+\s*|$)",
    re.IGNORECASE,
)
"""By these words a speaker takes back what was said before: 更正：…"""
_NO_MORE: Final = re.compile(r"\bno longer\b|\bany ?more\b", re.IGNORECASE)
_ENDED: Final = re.compile(rf"[不没别无][^，,。；;]{{0,12}}了|{_NO_MORE.pattern}", re.IGNORECASE)
"""Says that what was so has ended."""


class Conflict(IntEnum):
    """How sure it is that both cannot be true now."""

    NONE = 0
    LIKELY = 1
    CERTAIN = 2


@dataclass(frozen=True, slots=True)
class Said:
    """A statement and when it was said, aware."""

    text: str
    at: datetime


def spoken_correction(text: str) -> str | None:
    """Returns what a text says if it calls itself a correction, without the words for that; None
    for any other text."""
    said = _CORRECTED.sub("", text).strip()
    return said if said and said != text.strip() else None


def denies(new: Said) -> bool:
    """Whether a statement says that something is not so."""
    return not NEGATIONS.isdisjoint(_statement(new).words)


def negation(new: Said, old: Said) -> Conflict:
    """``conflict`` as far as ``new`` is ``old`` with a negation more or less: certain if it says
    that the old statement holds no longer, for a flat denial may be meant otherwise."""
    mine, yours = _statement(new), _statement(old)
    if not mine.clauses or not yours.clauses:
        return Conflict.NONE
    if not _is_negated(mine.clauses[0], yours.clauses[0]):
        return Conflict.NONE
    return Conflict.CERTAIN if _ENDED.search(new.text) else Conflict.LIKELY


def conflict(new: Said, old: Said) -> Conflict:
    """How far ``new`` takes back ``old``. What says the same, or more of it, is no conflict."""
    mine, yours = _statement(new), _statement(old)
    if not mine.clauses or not yours.clauses or agree(mine.words, yours.words):
        return Conflict.NONE
    # A reason may follow: only what is said first is compared.
    one, other = mine.clauses[0][:_COMPARED], yours.clauses[0][:_COMPARED]
    if agree(one, other):
        return Conflict.NONE
    if _is_negated(one, other):
        return Conflict.CERTAIN
    tell = _IS.match(new.text) and _IS.match(old.text)
    return _differ(one, other, least=_LEAST - 1 if tell else _LEAST)


def _statement(said: Said) -> Statement:
    # ``statement`` takes the 不过 of 不过敏 for "but".
    text = said.text.replace("不过敏", "没过敏")
    return statement(_NO_MORE.sub(lambda one: "not" if one[0][0] in "nN" else "", text), said.at)


def _is_negated(one: Words, other: Words) -> bool:
    """Whether one says that the other is not so, in the same words."""
    mine, yours = _negations(one), _negations(other)
    if mine % 2 == yours % 2 or _weight(one) < _LEAST:
        return False
    return agree(_positive(one), _positive(other))


def _negations(words: Words) -> int:
    return sum(word in NEGATIONS for word in words)


def _positive(words: Words) -> Words:
    """The words without negations; a verb as it stands behind "does not"."""
    left = (word for word in words if word not in NEGATIONS and word not in _AUXILIARIES)
    return tuple(
        word[:-1] if word.isascii() and len(word) > 3 and word.endswith("s") else word
        for word in left
        if word not in LIGHT
    )


def _differ(one: Words, other: Words, *, least: int) -> Conflict:
    """``least``: the weight of what has to stand before a value."""
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    steps = [step for step in matcher.get_opcodes() if step[0] != "equal"]
    shared = _weight(
        [word for at in matcher.get_matching_blocks() for word in one[at.a : at.a + at.size]]
    )
    if len(steps) == 1 and shared:
        _, first, last, start, end = steps[0]
        mine, yours = one[first:last], other[start:end]
        if _are_values(mine, yours) and _ends_with_value(one, first, last, least):
            return Conflict.CERTAIN
        if not mine or not yours:
            return Conflict.NONE  # one only says more
    if shared < _LEAST or len(steps) > 2:
        return Conflict.NONE
    alike = shared >= _SHARED * min(_weight(one), _weight(other))
    begins_alike = bool(steps) and min(steps[0][1], steps[0][3]) > 0
    return Conflict.LIKELY if alike and begins_alike else Conflict.NONE


def _are_values(mine: Sequence[str], yours: Sequence[str]) -> bool:
    """One number or date each, and neither names which of several things it is."""
    return all(len(words) == 1 and _VALUE.fullmatch(words[0]) for words in (mine, yours))


def _ends_with_value(words: Words, first: int, last: int, least: int) -> bool:
    """Whether enough stands before a value, and nothing but its unit behind it: in 301 的灯坏了 the
    number is the thing's name."""
    if first == 0 or words[first - 1] == "第" or _weight(words[:first]) < least:
        return False
    return all(word.lower() in _UNITS for word in words[last:])


def _weight(words: Sequence[str]) -> int:
    return sum(2 if word.isascii() else 1 for word in words)
