"""Whether a new statement takes back an older one of the same subject. Pure.

A wrong replacement hides what is true. It is certain where two statements are the same word for
word but for a negation, or but for one number or date at the end of the clause. Else a speaker has
to say that he corrects something, or that it has ended.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import SequenceMatcher
from enum import IntEnum
from typing import Final

from ...catalogue.rules.closing import closed_by
from ...catalogue.rules.event_day import is_another_event
from ...index.rules.deduplication import same_speaker
from ...models.data_models import Memory, MemoryDraft, StoredMemory
from ...recall.rules.newer import Statement as Read
from ...recall.rules.newer import features, may_follow, weight
from ...recall.weights import Linear
from ...text.overlap import content, is_model_worded
from ...text.same_meaning import LIGHT, NEGATIONS, PERSONS
from ...text.scripts import WIDE, fold
from ...text.statements import Statement, Words, agree, statement
from .corrected import named

_LIKELY: Final = 1.0
"""Log-odds at which a statement that takes something back is about another one."""
_AHEAD: Final = 1.0
"""Of anything else that it may be about: nobody guesses which of two is meant."""
_CERTAIN: Final = 100.0
_POINTS: Final = 3.0
"""Log-odds for what a correction names."""
_OF_DATES: Final = frozenset("年月日号號点點")
_MOST: Final = 0.6
"""Of what a statement tells of: so much has ended where it has."""
_COMPARED: Final = 60
"""Words of a clause: the time goes by their square."""
_ANY_DAY: Final = datetime(2000, 1, 1, tzinfo=UTC)
_LEAST: Final = 3
"""Shared, where a Han character counts one and a word two."""
_SHARED: Final = 0.6
"""Of what is said to have ended, in what was said before."""

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


_WRONG: Final = "(?:[记記说說讲講写寫搞弄打](?:[错錯混反])了?|有[误誤])"
_CORRECTED: Final = re.compile(
    r"(?:^|(?<=[，,。；;！!.\n]))\s*(?:(?:(?:我|之前|上次|[刚剛]才|[刚剛]{2}|前面)*"
    rf"(?:{_WRONG}|不[对對]|[错錯]了)(?:[，,\s]*(?:{_WRONG}|不[对對]))*|(?:更|[纠糾]|[订訂])正|勘[误誤]|口[误誤])(?:一下)?|"
    r"(?:(?:sorry|oops|no|wait)[,!\s]*)*(?:correction|i was (?:wrong|mistaken)|i misspoke|no|wait|"
    r"my (?:mistake|bad)|i (?:got|had) (?:it|that) wrong|scratch that|"
    r"that(?:'s| is| was) (?:wrong|not right)))"
    r"\s*(?:[：:，,。；;！!.\n]+\s*|$)|\bi meant(?: to say)?(?: that)?:?\s+|"
    rf"(?<=\S)(?:{_WRONG}|不[对對])[，,。\s]*(?:[应應][该該])?(?=是)",
    re.IGNORECASE,
)
"""By these words a speaker takes back what was said before: 更正：…, 预算说错了，应该是…"""
_CHANGED: Final = re.compile(
    r"其[实實]|[实實][际際]上|[现現]在|如今|原[来來]|[应應][该該]是|[改换換搬挪延涨漲降变變]|推[迟遲]|提前|取消|成了|"
    r"\b(?:actually|in fact|instead|now|should be|turns? out|moved|changed|switched|swapped|"
    r"postponed|rescheduled|cancell?ed|used to)\b",
    re.IGNORECASE,
)
_CONTRAST: Final = re.compile(
    r"不是(?P<han>[^，,。；;是]{1,20})[，,]?\s*(?:而|[应應][该該])?是|"
    r"^不是(?P<start>[^，,。；;！!是]{1,20})[，,。！!]\s*|"
    r"[，,]\s*(?:而)?(?:不是|[没沒]有?|不)(?P<end>[^，,。；;是了]{1,20})[。！!]?$|"
    r"(?:\bnot|n't)\b(?P<latin>[^,.;]{1,40}?),?\s+but\b|"
    r"(?:,\s+not|\b(?:rather than|instead of))\s(?P<last>[^,.;]{1,40})",
    re.IGNORECASE,
)
_NO_MORE: Final = re.compile(r"\bno longer\b|\bany ?(?:more|longer)\b", re.IGNORECASE)
_NOT: Final = "[不没沒别別无無]"
_ENDED: Final = re.compile(
    rf"{_NOT}再|戒(?![指备備])|{_NOT}[^，,。；;]{{1,12}}了|{_NO_MORE.pattern}|"
    r"\b(?:quit|stopped|gave up|given up)\b",
    re.IGNORECASE,
)
"""Says that what was so has ended."""
_DENIED: Final = re.compile(
    rf"{_NOT}(?:[再是有在])?(?P<han>{WIDE.pattern})|"
    r"(?:\b(?:no longer|not|never|quit|stopped|up)|n't)\s+"
    r"(?:(?:a|an|the|any|be|have|has)\s+)*(?P<latin>[a-z]+)",
    re.IGNORECASE,
)
"""What is denied: the verb, or what somebody is or has."""
_ROLES: Final = "当當做任"
"""Denied, somebody is no longer what the old statement calls them."""
_AUXILIARY: Final = re.compile(r"\b\w+n't\b", re.IGNORECASE)
_ENDING: Final = re.compile(
    r"^\S{1,4}[说說]|^(?:the )?\w+ (?:says|said|told me)(?: that)?\b|"
    rf"戒|已[经經]|{_AUXILIARY.pattern}|\b(?:quit|stopped|gave|given|up)\b|{_NO_MORE.pattern}",
    re.IGNORECASE,
)
_WORD: Final = re.compile(rf"{WIDE.pattern}|[a-z0-9]+")
_CLAUSE: Final = re.compile(r"(?:[^，,。；;.!！\n\s]|(?<=[!-~])\s|\s(?=[!-~]))+")
"""A blank ends one between Chinese characters."""


class Taking(IntEnum):
    """How a statement takes back another one, the plainest first."""

    CORRECTS = 0
    """It says so."""
    ENDS = 1
    """What was so is so no longer."""
    CHANGED = 2
    """Something is otherwise now, or has changed."""
    TELLS = 3
    """It says nothing of that."""


@dataclass(frozen=True, slots=True)
class Taken:
    """``said``: of ``ENDS`` what has ended, else without the words by which it calls itself a
    correction. ``dropped``: what it says is not so; empty where it names none. ``named``: it calls
    itself a correction."""

    how: Taking
    said: str
    dropped: str = ""
    named: bool = False


def taken_back(text: str) -> Taken:
    """Returns how a text takes back what was said before."""
    said = _CORRECTED.sub("", text).strip()
    named = bool(said) and said != text.strip()
    contrast = _CONTRAST.search(said)
    dropped = next(filter(None, contrast.groups()), "") if contrast else ""
    if named or (dropped and NEGATIONS.isdisjoint(statement(dropped, _ANY_DAY).words)):
        said = said.removeprefix(contrast[0]) if contrast and contrast["start"] else said
        whole = not named and not (contrast and contrast["start"])
        return Taken(Taking.CORRECTS, text if whole else said, dropped, named)
    if ended := " ".join(one for one in _CLAUSE.findall(text) if _ENDED.search(one)):
        return Taken(Taking.ENDS, ended)
    return Taken(Taking.CHANGED if _CHANGED.search(text) else Taking.TELLS, text)


def takes_back(draft: MemoryDraft) -> Taken:
    """How a draft takes something back, by its words or by those that a model has heard."""
    found = taken_back(draft.judgment)
    if draft.heard is None or found.how is Taking.CORRECTS:
        return found
    name = "" if draft.actor is None else draft.actor.name
    heard = taken_back(draft.heard)
    if heard.how is Taking.CORRECTS and not is_model_worded(draft.judgment, draft.heard, name):
        return replace(heard, said=draft.judgment)
    return found


def contradicted(
    new: Memory, taken: Taken, near: Sequence[StoredMemory], model: Linear
) -> tuple[bool, StoredMemory | None]:
    """Returns what a statement contradicts, and whether it may take its place: what a person
    vouches for, or another speaker said, stays, and so does what may be meant as well as another
    one."""
    mine, found = _read(replace(new, judgment=taken.said)), []
    for place, stored in enumerate(near):
        old = stored.memory
        if closed_by(old) or old.created_at > new.created_at:
            continue
        yours = _read(old)
        if not (same_speaker(new, old) or may_follow(yours, mine)):
            continue
        certain = not is_another_event(new, old) and contradicts(mine.memory, yours.memory)
        score = _CERTAIN if certain else _score(mine, yours, taken, model)
        if score is not None:
            found.append((_may_replace(new, old), score, -place, stored, yours))
    if not found:
        return False, None
    (own, best, _, stored, yours), *others = sorted(found, key=lambda one: one[:3], reverse=True)
    if not own or any(best - other[1] < _AHEAD for other in others if other[0]):
        return False, stored
    same = subject(mine.memory.judgment, new.who) == subject(yours.memory.judgment, new.who)
    match taken.how:
        case _ if best >= _CERTAIN:
            sure = True
        case Taking.CORRECTS:
            sure = same
        case Taking.ENDS:
            sure = weight(mine.about & yours.about) >= _MOST * yours.size
        case _:
            sure = same and taken.how is Taking.CHANGED and features(yours, mine)["value"] > 0
    return sure, stored


def _read(memory: Memory) -> Read:
    """A memory with its speaker's name for the first person; his own if it speaks of him."""
    text, who = named(memory.judgment, memory.provenance.who), memory.provenance.who
    read = Read.of(replace(memory, judgment=text), frozenset({who} - {""}))
    own = bool(who) and who in text
    return replace(read, own=own, named=frozenset({who}) if own else frozenset())


def _score(new: Read, old: Read, taken: Taken, model: Linear) -> float | None:
    """Returns the log-odds that the new statement says how it stands now with what the old one
    says, None where it does not. Who corrects himself begins with the same words on purpose, and
    when it was said is no matter."""
    mine, yours = new.memory, old.memory
    said = (statement(one.judgment, one.created_at).words for one in (mine, yours))
    points = taken.how is Taking.CORRECTS and _points_at(new, old, taken)
    if agree(*said) or not (may_follow(old, new) or (points and same_speaker(mine, yours))):
        return None
    found = features(old, new) | {"speaker": 1.0, "days": 0.5, "names": 0.5}
    if taken.how is Taking.CHANGED and is_another_event(mine, yours):
        return None
    if taken.how in (Taking.CORRECTS, Taking.CHANGED):
        if taken.dropped and not points:
            return None
        found |= {"corrects": found["cosine"], "beyond": max(found["cosine"], found["beyond"])}
        score = model.score(found) + _POINTS * points
        return score if score >= _LIKELY else None
    if taken.how is Taking.ENDS:
        ended = ends(mine.judgment, yours.judgment, content(mine.who))
        return model.score(found) if ended else None
    if is_another_event(mine, yours):
        return None
    score = model.score(found)
    same = subject(mine.judgment, mine.who) == subject(yours.judgment, yours.who)
    told = (same and score >= 2 * _LIKELY) or tell_a_value(mine.judgment, yours.judgment)
    return score if told else None


def _points_at(new: Read, old: Read, taken: Taken) -> bool:
    """Whether a correction names what the old statement says as what is not so; or, where it names
    nothing, says no more than another value of the same: 不对，是三片."""
    if taken.dropped:
        dropped = content(taken.dropped) - _OF_DATES
        return bool(dropped) and 2 * len(dropped & content(old.memory.judgment)) > len(dropped)
    units = old.values.keys() & new.values.keys()
    other = any(old.values[unit].isdisjoint(new.values[unit]) for unit in units)
    return other and new.about <= old.about


def _may_replace(new: Memory, old: Memory) -> bool:
    vouched = old.provenance.vouched and not new.provenance.vouched
    return same_speaker(new, old) and not vouched and not new.model_worded


def ends(new: str, old: str, names: frozenset[str]) -> bool:
    """Whether ``new`` says that what ``old`` says has ended: it denies the same deed of the same
    person, and tells of little else. ``names``: the ``content`` of the speaker's name."""
    deed, left = _DENIED.search(new), _stems(_ENDING.sub("", new)) - names
    denied = (deed["han"] or fold(deed["latin"])[:4]) if deed else ""
    if denied not in fold(old) + _ROLES or _ENDED.search(old) or _persons(old) - _persons(new):
        return False
    return len(left & _stems(old)) > _SHARED * len(left)


def _persons(text: str) -> set[str]:
    return {person for person in PERSONS if person in fold(text)}


def subject(text: str, who: str) -> str:
    """Returns the word that a statement begins with, apart from its speaker's name: it tells which
    of his things it is about."""
    words = _WORD.findall(_AUXILIARY.sub("", fold(text.replace(who, " ") if who else text)))
    return next((word[:4] for word in words if content(word)), "")


def _stems(text: str) -> frozenset[str]:
    words = (word for word in content(text) if len(word) > 1 or not word.isascii())
    return frozenset(word.rstrip("s") if word.isascii() else word for word in words)


def contradicts(new: Memory, old: Memory) -> bool:
    """Whether both say the same word for word, but for a negation, or for one number or date at the
    end of what is said first: a reason may follow."""
    mine, yours = _statement(new), _statement(old)
    if not mine.clauses or not yours.clauses or agree(mine.words, yours.words):
        return False
    one, other = mine.clauses[0][:_COMPARED], yours.clauses[0][:_COMPARED]
    if _is_negated(one, other):
        return True
    tell = _IS.match(new.judgment) and _IS.match(old.judgment)
    return _differ(one, other, least=_LEAST - 1 if tell else _LEAST)


def tell_a_value(new: str, old: str) -> bool:
    """Whether both say what the same thing is: 默认分支是 main, 默认分支是 master."""
    one, other = _IS.match(new), _IS.match(old)
    if one is None or other is None or fold(one[0]) != fold(other[0]):
        return False
    return len(content(one[0])) > _LEAST


def _statement(said: Memory) -> Statement:
    # ``statement`` takes the 不过 of 不过敏 for "but".
    text = said.judgment.replace("不过敏", "没过敏")
    return statement(
        _NO_MORE.sub(lambda one: "not" if one[0][0] in "nN" else "", text), said.created_at
    )


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


def _differ(one: Words, other: Words, *, least: int) -> bool:
    """``least``: the weight of what has to stand before a value."""
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    steps = [step for step in matcher.get_opcodes() if step[0] != "equal"]
    if len(steps) != 1:
        return False
    _, first, last, start, end = steps[0]
    values = _are_values(one[first:last], other[start:end])
    return values and _ends_with_value(one, first, last, least)


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
