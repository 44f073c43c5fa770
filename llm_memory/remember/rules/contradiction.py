"""What a new statement contradicts of what is stored already. Pure.

A wrong replacement hides what is true. So only what the same speaker said in the same words, but
for a negation, or for one number or date at the end of the clause, is replaced; all else is named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from ...catalogue.rules.closing import closed_by
from ...catalogue.rules.event_day import is_another_event
from ...index.rules.deduplication import same_speaker
from ...models.data_models import Memory, MemoryKind, StoredMemory
from ...recall.rules import newer
from ...recall.rules.weights import Linear
from ...text.overlap import content
from ...text.same_meaning import LIGHT, NEGATIONS
from ...text.scripts import fold
from ...text.statements import Words, agree, statement

_LIKELY: Final = 1.0
"""Log-odds from which on a statement may say how it stands now with what an older one says."""
_COMPARED: Final = 60
"""Words of a clause: the time goes by their square."""
_LEAST: Final = 3
"""Shared, where a Han character counts one and a word two."""
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
_NO_MORE: Final = re.compile(r"\bno longer\b|\bany ?(?:more|longer)\b", re.IGNORECASE)


def contradicted(
    new: Memory, near: Sequence[StoredMemory], model: Linear
) -> tuple[StoredMemory | None, bool]:
    """Returns what a statement contradicts of ``near``, the most alike first, and whether it takes
    its place: what a person vouches for stays, and so does what may be meant as well as another
    one. ``model`` tells from two statements whether the later one says how it stands now."""
    older = [
        one
        for one in near
        if not closed_by(one.memory)
        and one.memory.created_at <= new.created_at
        and (one.memory.kind is MemoryKind.TASK) == (new.kind is MemoryKind.TASK)
    ]
    own = [one for one in older if same_speaker(new, one.memory)]
    certain = [one for one in own if contradicts(new, one.memory)]
    if certain:
        return certain[0], len(certain) == 1 and _may_replace(new, certain[0].memory)
    told = next((one for one in own if _tell_a_value(new, one.memory)), None)
    scores = [(_score(new, one.memory, model), -place) for place, one in enumerate(older)]
    best, place = max(scores, default=(0.0, 0))
    return (older[-place] if best > _LIKELY else told), False


def contradicts(new: Memory, old: Memory) -> bool:
    """Whether both say the same of one event word for word, but for a negation, or for one number
    or date at the end of what is said first: a reason may follow."""
    mine, yours = _clauses(new), _clauses(old)
    if not mine or not yours or mine == yours or is_another_event(new, old):
        return False
    one, other = mine[0][:_COMPARED], yours[0][:_COMPARED]
    return not agree(one, other) and (_is_negated(one, other) or _differ(one, other))


def _score(new: Memory, old: Memory, model: Linear) -> float:
    mine, yours = (
        newer.Statement.of(one, frozenset({one.provenance.who} - {""})) for one in (new, old)
    )
    may = newer.may_follow(yours, mine) and not is_another_event(new, old)
    return model.score(newer.features(yours, mine)) if may else 0.0


def _tell_a_value(new: Memory, old: Memory) -> bool:
    """Whether both say what the same thing is: 默认分支是 main, 默认分支是 master."""
    one, other = _IS.match(new.judgment), _IS.match(old.judgment)
    same = one is not None and other is not None and fold(one[0]) == fold(other[0])
    return same and new.judgment != old.judgment and len(content(new.judgment)) > _LEAST


def _may_replace(new: Memory, old: Memory) -> bool:
    return not new.model_worded and (new.provenance.vouched or not old.provenance.vouched)


def _clauses(memory: Memory) -> tuple[Words, ...]:
    # ``statement`` takes the 不过 of 不过敏 for "but".
    text = memory.judgment.replace("不过敏", "没过敏")
    text = _NO_MORE.sub(lambda one: "not" if one[0][0] in "nN" else "", text)
    return statement(text, memory.created_at).clauses


def _is_negated(one: Words, other: Words) -> bool:
    """Whether one says that the other is not so, in the same words."""
    mine, yours = (sum(word in NEGATIONS for word in words) for words in (one, other))
    if mine % 2 == yours % 2 or _weight(one) < _LEAST:
        return False
    return agree(_positive(one), _positive(other))


def _positive(words: Words) -> Words:
    """The words without negations; a verb as it stands behind "does not"."""
    left = (word for word in words if word not in NEGATIONS and word not in _AUXILIARIES)
    return tuple(
        word[:-1] if word.isascii() and len(word) > 3 and word.endswith("s") else word
        for word in left
        if word not in LIGHT
    )


def _differ(one: Words, other: Words) -> bool:
    """Whether they differ by one number or date each, with nothing but its unit behind it: in 301
    的灯坏了 the number is the thing's name."""
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    steps = [step for step in matcher.get_opcodes() if step[0] != "equal"]
    if len(steps) != 1:
        return False
    _, first, last, start, end = steps[0]
    values = one[first:last], other[start:end]
    if not all(len(words) == 1 and _VALUE.fullmatch(words[0]) for words in values):
        return False
    if first == 0 or one[first - 1] == "第" or _weight(one[:first]) < _LEAST - 1:
        return False
    return all(word.lower() in _UNITS for word in one[last:])


def _weight(words: Sequence[str]) -> int:
    return sum(2 if word.isascii() else 1 for word in words)
