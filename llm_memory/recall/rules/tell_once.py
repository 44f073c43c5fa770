"""Each thing is told once, as it stands now, by whom most can be said for. Pure.

The record stands in the place of its proposal, what was stored in the place of the turn it is of,
what holds before what it has settled. One fact that several people have told is one line with all
their names: the entries stay apart, for who said what, and who vouches for it, differs.

Of two statements of one thing the newer comes first. A fitted model tells from a pair whether the
later one says how it stands now. What no fit may change is in ``may_follow``: who may speak for
whom.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import takewhile
from typing import Final

from ...catalogue.rules.closing import closed_by, is_over
from ...catalogue.rules.proposals import is_accepted, is_rejected, proposal_key
from ...catalogue.rules.talk_anchor import without_anchor
from ...index.rules.deduplication import same_speaker
from ...models.data_models import MODEL_WORDED, REWORDED_BY, Memory, Source
from ...models.passages import Key, NoteChunk, Passage, place_name
from ...models.recall import DropReason
from ...text.numerals import number
from ...text.overlap import content, pieces
from ...text.scripts import simplified
from ...text.statements import agree, statement
from ..patterns import PATTERNS, says
from ..weights import Linear
from .order import Candidate, is_as_said

_HOPS: Final = 8
"""A plan is dropped, and the plan in its place, too: so often at most."""
_FIRST: Final = 20
"""So many of the best are compared: no more are ever shown."""
_ALIKE: Final = 0.6
"""Share of the content of both that two texts have in common which may say the same."""
_AS_WELL: Final = 1.0
"""In log-odds."""
_REPLACED: Final = re.compile("取代 (m-[0-9a-z]{4,32})")
"""The last line of its reasons says of a memory whose place it took."""
_LOOKED_AT: Final = 10
"""Of the best, and of those below: twice what is shown by default."""
_A_MINUTE: Final = timedelta(minutes=1)
_READ: Final = 300
"""Characters of a statement."""
FEATURES: Final = (
    "cosine", "pairs", "beyond", "changes", "speaker", "names", "days", "asks", "value",
)  # fmt: skip


def stored_instead(
    best: Sequence[Candidate], copied: Callable[[Passage], Collection[str]]
) -> list[Candidate]:
    """Without the turns of which something was stored that answers about as well: a turn that is
    not read yet may say more. ``copied`` tells the ids of what was stored of one."""
    scores = {one.key.memory_id: one.score for one in reversed(best)}
    left: list[Candidate] = []
    for one in best:
        others = {*copied(one.passage)} - {one.key.memory_id}
        if all(scores.get(name, -math.inf) <= one.score - _AS_WELL for name in others):
            left.append(one)
    return left


def closed_last(
    best: Sequence[Candidate],
    known: Mapping[Key, Candidate],
    find: Callable[[Key], Passage | None],
    record: Callable[[str], Passage | None] = lambda _: None,
) -> list[Candidate]:
    """What was settled or rejected comes behind all that holds; in a memory's place stands what has
    settled it, and in that of an accepted proposal its record, which is what was decided.
    ``known``: every candidate, relevant or not. ``find`` tells what lives at a place under an id,
    and ``record`` the record of a proposal, by its key, if the reader sees it."""
    ordered: dict[Key, Candidate] = {}
    behind: dict[Key, Candidate] = {}
    for one in best:
        passage = one.passage
        if one.memory and is_accepted(one.memory):
            passage = record(proposal_key(one.memory.memory_id)) or passage
        it = one if passage is one.passage else replace(one, passage=passage)
        holds = _holding(passage, find)
        if holds is not passage:
            behind.setdefault(it.key, known.get(it.key, it))
        if holds is not None:
            instead = it if holds is passage else replace(one, passage=holds)
            # Beside its proposal, which says the same, a record counts for less than it does alone.
            before = ordered.setdefault(instead.key, known.get(instead.key, instead))
            before.relevance = max(before.relevance, one.relevance)
    return [*ordered.values(), *behind.values()]


def _holding(passage: Passage | None, find: Callable[[Key], Passage | None]) -> Passage | None:
    """What holds now, where it is still known: at the same place, so read by the same people."""
    for _ in range(_HOPS):
        if isinstance(passage, NoteChunk):
            return None if passage.settled else passage
        if passage is None or is_rejected(passage.memory):
            return None
        if not (by := closed_by(passage.memory)):
            return passage
        passage = find(Key(place_name(passage), by))
    return None


def merge_same_facts(best: Sequence[Candidate]) -> list[Candidate]:
    """Each fact once, where the best of what tells it stands. What is vouched for leads: it is that
    speaker's line."""
    told = []
    for group in _grouped(best[:_FIRST], _tell_one_fact):
        vouched = (one for one in group if one.memory and one.memory.provenance.vouched)
        first = next(vouched, group[0])
        also = [replace(one, dropped=DropReason.SAID) for one in group if one is not first]
        told.append(replace(first, relevance=group[0].relevance, score=group[0].score, also=also))
    return [*told, *best[_FIRST:]]


def standing_first(best: Sequence[Candidate], stands: Callable[[Passage], bool]) -> list[Candidate]:
    """Where several people tell of one matter, what stands comes before what does not, and what a
    speaker has said of it again behind all others."""
    first, again = best[:_FIRST], list[Candidate]()
    if all(stands(one.passage) for one in first):
        return [*best]
    places: dict[int, Candidate] = {}
    for group in _grouped(first, lambda *_: True):
        told = sorted(group, key=lambda one: not stands(one.passage))
        places |= zip(map(id, group), told, strict=True)
        said = [one.memory for one in told if one.memory and not stands(told[-1].passage)]
        again += [
            told[at]
            for at, memory in enumerate(said)
            if any(same_speaker(memory, before) for before in said[:at])
        ]
    behind = {id(one) for one in again}
    ordered = [places[id(one)] for one in first if id(places[id(one)]) not in behind]
    return [*ordered, *again, *best[_FIRST:]]


def _grouped(
    best: Sequence[Candidate], same: Callable[[Memory, Memory], bool]
) -> list[list[Candidate]]:
    """Those memories together whose texts are of one matter, and that are the ``same``."""
    groups: list[tuple[frozenset[str], list[Candidate]]] = []
    for one in best:
        about = content(one.memory.judgment if one.memory else "")
        for others, group in groups:
            first, shared = group[0].memory, len(about & others)
            alike = shared and shared >= _ALIKE * (len(about) + len(others) - shared)
            if alike and first and one.memory and same(first, one.memory):
                group.append(one)
                break
        else:
            groups.append((about, [one]))
    return [group for _, group in groups]


def _tell_one_fact(one: Memory, other: Memory) -> bool:
    """Whether two speakers do. What reads like an order, or speaks of 我, is nobody else's line."""
    if one.memory_id == other.memory_id or same_speaker(one, other) or one.kind is not other.kind:
        return False
    if any(it.quoted or speaks_of_own(it.judgment) for it in (one, other)):
        return False
    if _noted(one) != _noted(other):
        return False  # one is settled, or done, and the other is not
    said, again = (statement(it.judgment, it.created_at) for it in (one, other))
    return not (said.vague or again.vague or not said.words) and agree(said.words, again.words)


def _noted(memory: Memory) -> set[str]:
    extra = without_anchor(memory).extra
    return {one for one in extra if not one.startswith((MODEL_WORDED, REWORDED_BY))}


def speaks_of_own(text: str) -> bool:
    """Whether a statement is of its speaker's own: 我的工位, 用户的工位, 女儿."""
    return says("first_person", text) or says("of_speaker", text)


def replacing(reasoning: str, old_id: str) -> str:
    """The reasons of one that stands in the place of another."""
    return f"{reasoning}\n取代 {old_id}".strip()


def claiming_nothing(reasoning: str) -> str:
    """What a reader gives as reasons, without lines that say whose place it took: that is told by
    what was done."""
    lines = (one for one in reasoning.splitlines() if not _REPLACED.fullmatch(one.strip()))
    return "\n".join(lines).strip()


def predecessor(memory: Memory) -> str:
    """The one whose place it took, as far as it was learned from what was said; empty for none."""
    found = _REPLACED.fullmatch(memory.reasoning.rpartition("\n")[2].strip())
    return found[1] if found and memory.provenance.source is Source.REFLECTION else ""


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A memory, read for the comparison with others. ``pairs``: of Han characters, and words;
    ``changing``: what it tells a change of; ``values``: numbers and weekdays by what they count;
    ``named``: speakers; ``which``: of several; ``beginning``: its first pieces."""

    memory: Memory
    about: frozenset[str]
    pairs: frozenset[str]
    changing: frozenset[str]
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
        text, found = simplified(memory.judgment[:_READ]), PATTERNS["value"]
        own, named = speaks_of_own(text), {one for one in map(simplified, names) if one in text}
        rest = found.sub(" ", text)
        for name in sorted(named, key=len, reverse=True):
            rest = rest.replace(name, " ")
        changes = PATTERNS["changes"].search(rest)
        if own:
            named |= {simplified(memory.provenance.who)} - {""}
        values = defaultdict[str, set[str]](set)
        for one in found.finditer(text):
            day, said = one["day"] or one["weekday"], one["count"] or one["word"]
            unit = "day" if day else (one["unit"] or one["of"] or "").casefold()
            values[unit].add(day.casefold() if day else str(number(said) or said))
        which = (one.strip().casefold().rstrip("的") for one in PATTERNS["which"].findall(text))
        return cls(
            memory,
            about=(about := content(rest)),
            pairs=frozenset(one for one in pieces(rest) if len(one) > 1 and content(one)),
            changing=(content(changes["what"]) or about) if changes else frozenset(),
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
    both = old.about & new.about
    cosine = weight(both) / max(math.sqrt(weight(old.about) * weight(new.about)), 1.0)
    pairs = zip(old.beginning, new.beginning, strict=False)
    begun = content(" ".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)))
    rest = math.sqrt(weight(old.about - begun) * weight(new.about - begun))
    past = (new.memory.created_at - old.memory.created_at).total_seconds() / 86_400
    fewer, counted = min(len(old.named), len(new.named)), old.values.keys() & new.values.keys()
    changed = weight(new.changing & old.about) / max(weight(new.changing), 1)
    differs = any(old.values[unit].isdisjoint(new.values[unit]) for unit in counted)
    return {
        "cosine": cosine,
        "pairs": len(old.pairs & new.pairs) / max(math.sqrt(len(old.pairs) * len(new.pairs)), 1.0),
        "beyond": weight(both - begun) / rest if rest else 1.0,
        "changes": changed * changed,  # half of it is often another part of the same thing
        "speaker": float(_same_voice(old.memory, new.memory)),
        "names": len(old.named & new.named) / fewer if fewer else 0.5,
        "days": min(math.log1p(max(past, 0.0)) / 3, 1.0),
        "asks": weight(old.asks & new.asks) / max(weight(old.asks | new.asks), 1),
        "value": cosine * cosine * differs,
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
    ``earlier``. Of what lies ``below``, and is not relevant, comes along what corrects something:
    the best is looked at, and what ``is_unread``, so was not compared yet with what it corrects.
    ``stands`` as in ``RecallRequest``: what does not corrects nothing that does."""
    near = sorted(below, key=lambda one: not is_unread(one.passage))
    known = _read([*best[:_LOOKED_AT], *near[:_LOOKED_AT]])

    def follows(before: Candidate, after: Candidate) -> bool:
        """Whether ``after`` is likelier than not to say how it stands now with what ``before``
        says; what is not relevant, or a line of talk, by more than ``before`` is the better
        answer."""
        old, new = known[id(before)], known[id(after)]
        is_line = is_as_said(after.passage, is_unread=is_unread(after.passage))
        needs_more = is_line or after.relevance < 0
        ahead = max(before.score - after.score, 0.0) if needs_more else 0.0
        past = new.memory.created_at - old.memory.created_at
        # What a tool stores in a turn is no update of its words.
        of_turn = is_unread(before.passage) and not is_unread(after.passage)
        return (
            past > timedelta(0)
            and not (of_turn and past < _A_MINUTE)
            and before.key.scope == after.key.scope
            and may_follow(old, new)
            and (stands(after.passage) or not stands(before.passage))
            and model.score(features(old, new)) > ahead
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
    """Memories alone, none that is a quotation or is settled."""
    memories = {id(one): one.memory for one in candidates if one.memory}
    names = frozenset(memory.provenance.who for memory in memories.values()) - {""}
    return {
        key: Statement.of(memory, names)
        for key, memory in memories.items()
        if not (memory.quoted or is_over(memory))
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
        and all(
            not one.own or simplified(one.memory.provenance.who) in other.named
            for one, other in pairs
        )
    )
