"""Of two statements of one thing the newer comes first; the older is marked. Pure.

A fitted model tells from a pair whether the later one says how it stands now. What no fit may
change is in ``_may_follow``: time, place, and who may speak for whom.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import takewhile
from typing import Final

from ...catalogue.rules.closing import is_over
from ...catalogue.rules.timeline import is_digest
from ...index.rules.deduplication import same_speaker
from ...models.data_models import Memory, StoredMemory
from ...models.passages import Passage, place_name
from ...text.numerals import ENGLISH_NUMBERS, HAN_NUMERALS, number
from ...text.overlap import content
from ..weights import Linear
from .choosing import Candidate
from .salience import is_first_person
from .tell_once import OF_SPEAKER

_LOOKED_AT: Final = 10
"""Of the best, and of those below: twice what is shown by default."""
_A_MINUTE: Final = timedelta(minutes=1)
_READ: Final = 300
"""Characters of a statement."""
FEATURES: Final = (
    "shared", "cosine", "beyond", "speaker", "names", "days", "asks", "value", "corrects",
)  # fmt: skip

_COUNT: Final = rf"[0-9]+(?:[.:：][0-9]+)?|[{HAN_NUMERALS}]+"
_DAY: Final = "(?:周|星期|礼拜)[一二三四五六日天末]"
_PART: Final = "(?:早上|早晨|上午|中午|下午|傍晚|晚上|夜里)"
_WHICH: Final = re.compile(
    rf"第(?:{_COUNT})|^(?:{_COUNT}) ?号(?=[楼线机桌厅院库车馆])"
    rf"|(?<=[^\W\d_{HAN_NUMERALS}月定约改挪推延换搬住到在是成为于]) ?(?:{_COUNT}) ?号"
    r"|(?<!is )(?<!to )(?:\bno\. ?|#)[0-9]+"
    r"|^(?:the )?(?!\w*day\b|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]+ [0-9]+\b"
    rf"|(?:{_DAY}{_PART}?|{_PART})的(?!{_PART})|^每?{_DAY}(?=[早晚例]?[会课班])"
    rf"|[早中晚夜](?=[班会课场市餐饭操])|(?:{_COUNT})(?:号?[楼层室房栋]|单元|年级|[班组队])的"
    r"|^(?:the )?(?:mon|tues|wednes|thurs|fri|satur|sun)days?'?s?\b(?! (?:is|was|at|works)\b)"
    r"|\b(?:morning|afternoon|evening|night)(?= (?:shift|class|lesson|session|meeting|group|dose))",
    re.IGNORECASE,
)
"""A number in a thing's name tells which of several it is, and is no value: 第3件, 打印机 2 号,
Printer 2; no date. So does a day, or a part of one, in the subject: 周一的早会, 晚班."""
_VALUE: Final = re.compile(
    rf"(?:周|星期|礼拜)(?P<day>[一二三四五六日天末])|(?P<count>{_COUNT})(?=\s*(?P<unit>[a-z]{{1,3}}|\w?))"
    r"|\b(?P<weekday>mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    rf"|\b(?P<word>{'|'.join(ENGLISH_NUMBERS)})\b(?=\s*(?P<of>[a-z]{{,3}}))",
    re.IGNORECASE,
)
_CORRECTS: Final = re.compile(
    r"更正|纠正|[记说搞弄]错|\b(?:correct(?:ion|ed)|wrong|mistaken?)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A memory, read for the comparison with others. ``values``: numbers and weekdays by what they
    count; ``named``: speakers; ``which``: of several; ``beginning``: its first pieces."""

    memory: Memory
    about: frozenset[str]
    size: int
    asks: frozenset[str]
    values: Mapping[str, set[str]]
    named: frozenset[str]
    which: frozenset[str]
    beginning: Sequence[str]
    own: bool
    corrects: bool
    is_question: bool

    @classmethod
    def of(cls, memory: Memory, names: frozenset[str]) -> Statement:
        """``names``: of all speakers."""
        text = memory.judgment[:_READ]
        named = {name for name in names if name in text}
        rest = _VALUE.sub(" ", text)
        for name in sorted(named, key=len, reverse=True):
            rest = rest.replace(name, " ")
        about = content(rest)
        own = is_first_person(text) or OF_SPEAKER.search(text) is not None
        who = memory.provenance.who
        return cls(
            memory,
            about,
            weight(about),
            content(" ".join(memory.asks)),
            _values(text),
            frozenset(named | ({who} if own and who else set())) if len(names) > 1 else frozenset(),
            frozenset(one.strip().casefold().rstrip("的") for one in _WHICH.findall(text)),
            re.findall(r"[0-9A-Za-z']+|[^\W_]", rest[:40]),
            own,
            _CORRECTS.search(text) is not None,
            text.rstrip().endswith(("?", "？")),
        )


def _values(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in _VALUE.finditer(text):
        day = one["day"] or one["weekday"]
        said = day or one["count"] or one["word"]
        unit = "day" if day else (one["unit"] or one["of"] or "").casefold()
        found.setdefault(unit, set()).add(said.casefold() if day else str(number(said) or said))
    return found


def features(old: Statement, new: Statement) -> dict[str, float]:
    """What tells whether ``new`` says how it stands now with what ``old`` says: ``FEATURES``."""
    both = old.about & new.about
    shared = weight(both)
    cosine = shared / max(math.sqrt(old.size * new.size), 1.0)
    begun = content(" ".join(_begun(old.beginning, new.beginning)))
    rest = math.sqrt(weight(old.about - begun) * weight(new.about - begun))
    past = (new.memory.created_at - old.memory.created_at).total_seconds() / 86_400
    names = old.named | new.named
    counted = old.values.keys() & new.values.keys()
    differs = any(old.values[unit].isdisjoint(new.values[unit]) for unit in counted)
    of_both = shared / max(old.size + new.size - shared, 1)
    return {
        "shared": of_both,
        "cosine": cosine,
        "beyond": weight(both - begun) / rest if rest else 1.0,
        "speaker": float(_same_voice(old.memory, new.memory)),
        "names": len(old.named & new.named) / len(names) if names else 0.5,
        "days": min(math.log1p(max(past, 0.0)) / 3, 1.0),
        "asks": weight(old.asks & new.asks) / max(weight(old.asks | new.asks), 1),
        "value": of_both * cosine * differs,
        "corrects": cosine * new.corrects,
    }


def weight(words: Collection[str]) -> int:
    """A Han character counts one, a word two."""
    return len(words) + sum(map(str.isascii, words))


def _begun(one: Sequence[str], other: Sequence[str]) -> list[str]:
    same = takewhile(lambda both: both[0] == both[1], zip(one, other, strict=False))
    return [piece for piece, _ in same]


def _same_voice(old: Memory, new: Memory) -> bool:
    """By account; by name where one of them has none, for a name can be taken by anybody."""
    known = old.provenance.person and new.provenance.person
    return same_speaker(old, new) or (not known and bool(old.who) and old.who == new.who)


def newer_first(
    best: Sequence[Candidate],
    below: Sequence[Candidate],
    model: Linear,
    is_unread: Callable[[Passage], bool] = lambda _: False,
    stands: Callable[[Passage], bool] = lambda _: True,
) -> list[Candidate]:
    """The best, none before what says how it stands now with what it says: that is marked
    ``earlier``.

    Args:
        below: What is not relevant: the best of it comes along where it corrects something.
        is_unread: Tells what was not compared yet with what it corrects: it comes along, too.
        stands: As in ``RecallRequest``: what does not corrects nothing that does.
    """
    near = [*below[:_LOOKED_AT], *(one for one in below[_LOOKED_AT:] if is_unread(one.passage))]
    near = sorted(near, key=lambda one: not is_unread(one.passage))[:_LOOKED_AT]
    looked_at = (*best[:_LOOKED_AT], *near)
    spoken = (one.passage for one in looked_at if isinstance(one.passage, StoredMemory))
    names = frozenset(one.memory.provenance.who for one in spoken) - {""}
    known, fresh = _read(best[:_LOOKED_AT], names), _read(near, names)

    def follows(old: Statement, before: Candidate, new: Statement, after: Candidate) -> bool:
        # What a tool stores in a turn is no update of its words.
        of_turn = is_unread(before.passage) and not is_unread(after.passage)
        at_once = new.memory.created_at - old.memory.created_at < _A_MINUTE
        may = not (of_turn and at_once) and (stands(after.passage) or not stands(before.passage))
        return may and _follows(old, before, new, after, model)

    comes = [
        (one, new) for one, new in fresh if any(follows(old, it, new, one) for it, old in known)
    ]
    known = sorted([*known, *comes], key=lambda both: both[1].memory.created_at, reverse=True)
    newer = {id(one): [it for it, new in known if follows(old, one, new, it)] for one, old in known}
    order: dict[int, Candidate] = {}

    def put(one: Candidate) -> None:
        """Behind what is newer, and that behind what is newer still: each is later than the last,
        so that this ends."""
        for ahead in newer.get(id(one), ()):
            if id(ahead) not in order:
                put(ahead)
        one.earlier = bool(newer.get(id(one)))
        order.setdefault(id(one), one)

    coming = {id(one) for one, _ in comes}
    for one in (*best, *(one for one in below if id(one) in coming)):
        put(one)
    return [*order.values()]


def _read(
    candidates: Sequence[Candidate], names: frozenset[str]
) -> list[tuple[Candidate, Statement]]:
    """Memories alone, none that is a quotation, sums a day up, or is settled."""
    return [
        (one, Statement.of(one.passage.memory, names))
        for one in candidates
        if isinstance(one.passage, StoredMemory)
        and not one.passage.memory.quoted
        and not is_digest(one.passage.memory)
        and not is_over(one.passage.memory)
    ]


def _follows(
    old: Statement, before: Candidate, new: Statement, after: Candidate, model: Linear
) -> bool:
    """Whether ``new`` says how it stands now with what ``old`` says: the log-odds of that are above
    those by which ``old`` is the better answer, for an update is about as good an answer."""
    return (
        old.memory.created_at < new.memory.created_at
        and place_name(before.passage) == place_name(after.passage)
        and may_follow(old, new)
        and model.score(features(old, new)) > max(before.score - after.score, 0.0)
    )


def may_follow(old: Statement, new: Statement) -> bool:
    """Whether they share anything, and its speaker may say so: what one says of oneself another
    updates by name alone, and what is not vouched for stands before nothing that is."""
    if old.about.isdisjoint(new.about) or old.is_question or new.is_question:
        return False
    if not (old.which <= new.which or new.which <= old.which):
        return False
    if same_speaker(old.memory, new.memory):
        return True
    if old.memory.provenance.vouched and not new.memory.provenance.vouched:
        return False
    if _same_voice(old.memory, new.memory):
        return True
    if old.own and new.own:
        return False
    pairs = ((old, new), (new, old))
    return all(not one.own or one.memory.provenance.who in other.named for one, other in pairs)
