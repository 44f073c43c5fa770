"""Of two statements of one thing the newer comes first; the older is marked. Pure.

A fitted model tells from a pair whether the later one says how it stands now. What no fit may
change is in ``may_follow``: time, place, and who may speak for whom.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import takewhile
from typing import Final

from ...catalogue.rules.closing import is_over
from ...catalogue.rules.timeline import is_digest
from ...index.rules.deduplication import same_speaker
from ...models.data_models import Memory
from ...models.passages import Passage, place_name
from ...text.numerals import number
from ...text.overlap import content
from ..patterns import PATTERNS, says
from ..weights import Linear
from .order import Candidate
from .tell_once import speaks_of_own

_LOOKED_AT: Final = 10
"""Of the best, and of those below: twice what is shown by default."""
_A_MINUTE: Final = timedelta(minutes=1)
_READ: Final = 300
"""Characters of a statement."""
FEATURES: Final = (
    "shared", "cosine", "beyond", "speaker", "names", "days", "asks", "value", "corrects",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A memory, read for the comparison with others. ``values``: numbers and weekdays by what they
    count; ``named``: speakers; ``which``: of several; ``beginning``: its first pieces."""

    memory: Memory
    about: frozenset[str]
    asks: frozenset[str]
    values: Mapping[str, set[str]]
    named: frozenset[str]
    which: frozenset[str]
    beginning: Sequence[str]
    own: bool
    is_question: bool

    @classmethod
    def of(cls, memory: Memory, names: frozenset[str]) -> Statement:
        """``names``: of all speakers."""
        text, found = memory.judgment[:_READ], PATTERNS["value"]
        own, named = speaks_of_own(text), {name for name in names if name in text}
        rest = found.sub(" ", text)
        for name in sorted(named, key=len, reverse=True):
            rest = rest.replace(name, " ")
        if own:
            named |= {memory.provenance.who} - {""}
        values = defaultdict[str, set[str]](set)
        for one in found.finditer(text):
            day, said = one["day"] or one["weekday"], one["count"] or one["word"]
            unit = "day" if day else (one["unit"] or one["of"] or "").casefold()
            values[unit].add(day.casefold() if day else str(number(said) or said))
        which = (one.strip().casefold().rstrip("的") for one in PATTERNS["which"].findall(text))
        return cls(
            memory,
            about=content(rest),
            asks=content(" ".join(memory.asks)),
            values=values,
            named=frozenset(named if len(names) > 1 else ()),
            which=frozenset(which),
            beginning=re.findall(r"[0-9A-Za-z']+|[^\W_]", rest[:40]),
            own=own,
            is_question=text.rstrip().endswith(("?", "？")),
        )


def features(old: Statement, new: Statement) -> dict[str, float]:
    """What tells whether ``new`` says how it stands now with what ``old`` says: ``FEATURES``."""
    both, shared = old.about & new.about, weight(old.about & new.about)
    of_both = shared / max(weight(old.about | new.about), 1)
    cosine = shared / max(math.sqrt(weight(old.about) * weight(new.about)), 1.0)
    pairs = zip(old.beginning, new.beginning, strict=False)
    begun = content(" ".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)))
    rest = math.sqrt(weight(old.about - begun) * weight(new.about - begun))
    past = (new.memory.created_at - old.memory.created_at).total_seconds() / 86_400
    names, counted = old.named | new.named, old.values.keys() & new.values.keys()
    differs = any(old.values[unit].isdisjoint(new.values[unit]) for unit in counted)
    return {
        "shared": of_both,
        "cosine": cosine,
        "beyond": weight(both - begun) / rest if rest else 1.0,
        "speaker": float(_same_voice(old.memory, new.memory)),
        "names": len(old.named & new.named) / len(names) if names else 0.5,
        "days": min(math.log1p(max(past, 0.0)) / 3, 1.0),
        "asks": weight(old.asks & new.asks) / max(weight(old.asks | new.asks), 1),
        "value": of_both * cosine * differs,
        "corrects": cosine * says("corrects", new.memory.judgment[:_READ]),
    }


def weight(words: Collection[str]) -> int:
    """A Han character counts one, a word two."""
    return len(words) + sum(map(str.isascii, words))


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
    near = sorted(below, key=lambda one: not is_unread(one.passage))
    known = _read([*best[:_LOOKED_AT], *near[:_LOOKED_AT]])

    def follows(before: Candidate, after: Candidate) -> bool:
        """Whether ``after`` says how it stands now with what ``before`` says: the log-odds of that
        are above those by which ``before`` is the better answer, for an update is about as good."""
        old, new = known[id(before)], known[id(after)]
        past = new.memory.created_at - old.memory.created_at
        # What a tool stores in a turn is no update of its words.
        of_turn = is_unread(before.passage) and not is_unread(after.passage)
        return (
            past > timedelta(0)
            and not (of_turn and past < _A_MINUTE)
            and (stands(after.passage) or not stands(before.passage))
            and place_name(before.passage) == place_name(after.passage)
            and may_follow(old, new)
            and model.score(features(old, new)) > max(before.score - after.score, 0.0)
        )

    first, rest = ([one for one in some if id(one) in known] for some in (best, below))
    comes = [one for one in rest if any(follows(it, one) for it in first)]
    first = sorted([*first, *comes], key=lambda one: known[id(one)].memory.created_at, reverse=True)
    newer = {id(one): [it for it in first if follows(one, it)] for one in first}
    order: dict[int, Candidate] = {}

    def put(one: Candidate) -> None:
        """Behind what is newer, and that behind what is newer still: each is later than the last,
        so that this ends."""
        for ahead in newer.get(id(one), ()):
            if id(ahead) not in order:
                put(ahead)
        one.earlier = bool(newer.get(id(one)))
        order.setdefault(id(one), one)

    for one in (*best, *comes):
        put(one)
    return [*order.values()]


def _read(candidates: Iterable[Candidate]) -> dict[int, Statement]:
    """Memories alone, none that is a quotation, sums a day up, or is settled."""
    memories = {id(one): one.memory for one in candidates if one.memory}
    names = frozenset(memory.provenance.who for memory in memories.values()) - {""}
    return {
        key: Statement.of(memory, names)
        for key, memory in memories.items()
        if not (memory.quoted or is_digest(memory) or is_over(memory))
    }


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
    pairs = ((old, new), (new, old))
    return _same_voice(old.memory, new.memory) or (
        not (old.own and new.own)
        and all(not one.own or one.memory.provenance.who in other.named for one, other in pairs)
    )
