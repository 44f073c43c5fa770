"""Of two statements of one thing the newer comes first; the older is marked. Pure.

A fitted model tells from a pair whether the later one says how it stands now. What no fit may
change is in ``_may_follow``: time, place, and who may speak for whom.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final

from ...catalogue.rules.closing import closed_by
from ...catalogue.rules.timeline import is_digest
from ...index.rules.deduplication import same_speaker
from ...models.data_models import Memory, StoredMemory
from ...models.passages import Passage, place_name
from ...text.numerals import HAN_NUMERALS
from ...text.overlap import content
from .ranking import Candidate, Sifted
from .salience import is_first_person
from .same_fact import OF_SPEAKER
from .weights import Linear

_LOOKED_AT: Final = 20
"""Of the best, and of those below: what stands further back is hardly shown."""
_READ: Final = 300
"""Characters of a statement."""
_LEAST: Final = 2
"""Content shared by a pair: two Han characters, or a word."""
_SHARED: Final = 0.3
"""Of the shorter one's content: pairs that share less are not read further."""
_SURE: Final = 1.0
"""Log-odds above which what is below the floor comes with what it corrects."""
FEATURES: Final = (
    "shared", "of_shorter", "beyond", "speaker", "owner", "days", "value", "negated", "change",
    "answers", "asked", "asks", "plain",
)  # fmt: skip

_ORDINAL: Final = re.compile(rf"第[0-9{HAN_NUMERALS}]+")
"""Tells which of several it is, and no value."""
_VALUE: Final = re.compile(
    rf"每?(?:周|星期|礼拜)[一二三四五六日天末]|[0-9]+(?:[.:：][0-9]+)?"
    rf"|[{HAN_NUMERALS}]+(?=[号日点月楼岁块元年个次斤层室度米条份万百人分])|(?<=[是要到在约共])[{HAN_NUMERALS}]+"
    r"|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|two|three|four|five|six|seven|eight|nine|"
    r"ten|eleven|twelve|half|january|february|march|april|june|july|august|september|october|"
    r"november|december)\b",
    re.IGNORECASE,
)
_NEGATED: Final = re.compile(
    r"不(?![错过管同久])|没|别|无|戒|停|取消|\b(?:not?|never|none|without|stopped|quit|cannot)\b|n't\b",
    re.IGNORECASE,
)
_CHANGE: Final = re.compile(
    r"更正|纠正|[记说搞]错|改|换|搬|挪|变|推[迟到]|延|提前|转|取消|现在|最[新后]|终于|决定|定了|"
    r"了(?:[，。,.]|$)|"
    r"\b(?:correct(?:ion|ed)|wrong|mistake|now|no longer|any ?more|instead|moved?|chang\w+|"
    r"switch\w+|swapped|postponed|resched\w+|cancell?ed|finally|actually|after all|not|new)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A memory, read for the comparison with others. ``named`` are speakers and ordinals: whose
    it is, or which of several; ``asked`` what the question is about, too; ``beginning`` its first
    pieces."""

    memory: Memory
    about: frozenset[str]
    size: int
    values: frozenset[str]
    named: frozenset[str]
    asked: frozenset[str]
    beginning: Sequence[str]
    own: bool
    negated: bool
    changes: bool

    @classmethod
    def of(cls, memory: Memory, question: frozenset[str], names: frozenset[str]) -> Statement:
        """``question``: the content of what is asked; ``names``: of all speakers."""
        text = memory.judgment[:_READ]
        rest = _ORDINAL.sub("", text)
        values = frozenset(value.casefold() for value in _VALUE.findall(rest))
        rest = _VALUE.sub(" ", rest)
        who = memory.provenance.who
        own = is_first_person(text) or OF_SPEAKER.search(text) is not None
        named = {name for name in names if name in text} | {*_ORDINAL.findall(text)}
        for name in sorted(named & names, key=len, reverse=True):
            rest = rest.replace(name, " ")
        about = content(rest)
        return cls(
            memory,
            about,
            weight(about),
            values,
            frozenset(named | ({who} if own and who else set())),
            about & question,
            re.findall(r"[0-9A-Za-z']+|[^\W_]", rest[:40]),
            own,
            _NEGATED.search(text) is not None,
            _CHANGE.search(text) is not None,
        )


def features(old: Statement, new: Statement) -> dict[str, float]:
    """What tells whether ``new`` says how it stands now with what ``old`` says: ``FEATURES``."""
    shared = weight(old.about & new.about)
    sizes = old.size, new.size
    of_shorter = shared / max(min(sizes), 1)
    begun = content(" ".join(_begun(old.beginning, new.beginning)))
    rest = min(weight(old.about - begun), weight(new.about - begun))
    past = (new.memory.created_at - old.memory.created_at).total_seconds() / 86_400
    covered = weight(old.asked), weight(new.asked)
    one, two = (content(" ".join(said.memory.asks)) for said in (old, new))
    differs = bool(old.values and new.values) and not new.values <= old.values
    negated = old.negated != new.negated
    return {
        "shared": shared / max(sum(sizes) - shared, 1),
        "of_shorter": of_shorter,
        "beyond": weight((old.about & new.about) - begun) / rest if rest else 1.0,
        "speaker": float(_same_voice(old.memory, new.memory)),
        "owner": float(bool(old.named and new.named) and not old.named & new.named),
        "days": min(math.log1p(max(past, 0.0)) / 3, 1.0),
        "value": of_shorter * differs,
        "negated": of_shorter * negated,
        "change": of_shorter * new.changes,
        "answers": min((1 + covered[1]) / (1 + covered[0]), 1.0),
        "asked": min(weight(old.asked & new.asked), 6) / 6,
        "asks": weight(one & two) / max(weight(one | two), 1),
        "plain": float(not (differs or negated or new.changes)),
    }


def weight(words: Collection[str]) -> int:
    """A Han character counts one, a word two."""
    return len(words) + sum(map(str.isascii, words))


def _begun(one: Sequence[str], other: Sequence[str]) -> list[str]:
    same = takewhile(lambda both: both[0] == both[1], zip(one, other, strict=False))
    return [piece for piece, _ in same]


def _same_voice(old: Memory, new: Memory) -> bool:
    return same_speaker(old, new) or (bool(old.who) and old.who == new.who)


def newer_first(
    sifted: Sifted,
    model: Linear,
    question: str,
    is_unread: Callable[[Passage], bool] = lambda _: False,
) -> Sifted:
    """None before what says how it stands now with what it says: that is marked ``earlier``.

    Args:
        is_unread: Tells what was not compared yet with what it corrects. It and the best of those
            below come along from there, where they surely correct something.
    """
    best, below = [*sifted.best], [*sifted.below]
    unread = [one for one in below if is_unread(one.passage)]
    near = [*unread, *(one for one in below[:_LOOKED_AT] if not is_unread(one.passage))][
        :_LOOKED_AT
    ]
    looked_at = (*best[:_LOOKED_AT], *near)
    spoken = (one.passage for one in looked_at if isinstance(one.passage, StoredMemory))
    names = frozenset(one.memory.provenance.who for one in spoken) - {""}
    asked = content(question)
    known = _read(best[:_LOOKED_AT], asked, names)
    fresh = _read(near, asked, names)
    comes = {
        id(candidate)
        for candidate, new in fresh
        if any(_follows(old, one, new, candidate, model) > _SURE for one, old in known)
    }
    best += [one for one in below if id(one) in comes]
    known += [both for both in fresh if id(both[0]) in comes]
    known.sort(key=lambda both: both[1].memory.created_at, reverse=True)
    newer = {
        id(one): [c for c, new in known if _follows(old, one, new, c, model) > 0]
        for one, old in known
    }
    order: dict[int, Candidate] = {}

    def put(one: Candidate) -> None:
        """Behind what is newer, and that behind what is newer still: each is later than the last,
        so that this ends."""
        for ahead in newer.get(id(one), ()):
            if id(ahead) not in order:
                put(ahead)
        order.setdefault(id(one), one)

    for candidate in best:
        put(candidate)
    ordered = [replace(c, earlier=True) if newer.get(key) else c for key, c in order.items()]
    return Sifted(ordered, [one for one in below if id(one) not in comes])


def _read(
    candidates: Sequence[Candidate], asked: frozenset[str], names: frozenset[str]
) -> list[tuple[Candidate, Statement]]:
    """Memories alone, none that is a quotation, sums a day up, or is settled."""
    return [
        (one, Statement.of(one.passage.memory, asked, names))
        for one in candidates
        if isinstance(one.passage, StoredMemory)
        and not one.passage.memory.quoted
        and not is_digest(one.passage.memory)
        and not closed_by(one.passage.memory)
    ]


def _follows(
    old: Statement, before: Candidate, new: Statement, after: Candidate, model: Linear
) -> float:
    """Log-odds that ``new`` says how it stands now with what ``old`` says."""
    shared = old.about & new.about
    if not shared or weight(shared) < max(_LEAST, _SHARED * min(old.size, new.size)):
        return -math.inf
    if old.memory.created_at >= new.memory.created_at or not _may_follow(old, new):
        return -math.inf
    if place_name(before.passage) != place_name(after.passage):
        return -math.inf
    return model.score(features(old, new))


def _may_follow(old: Statement, new: Statement) -> bool:
    """Whether its speaker may say so: what one says of oneself another updates by name alone, and
    what is not vouched for stands before nothing that is."""
    which = [{name for name in one.named if _ORDINAL.fullmatch(name)} for one in (old, new)]
    if all(which) and which[0] != which[1]:
        return False
    if _same_voice(old.memory, new.memory):
        return True
    if old.memory.provenance.vouched and not new.memory.provenance.vouched:
        return False
    if old.own and new.own:
        return False
    pairs = ((old, new), (new, old))
    return all(not one.own or one.memory.provenance.who in other.named for one, other in pairs)
