"""One fact that several people have told is one line with all their names. Pure.

The entries stay apart, for who said what, and who vouches for it, differs. Only what says just the
same, of the same people, is shown as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from ...catalogue.rules.talk_anchor import without_anchor
from ...catalogue.rules.timeline import is_digest
from ...index.rules.deduplication import same_speaker
from ...models.data_models import MODEL_WORDED, REWORDED_BY, Memory, StoredMemory
from ...models.passages import Passage
from ...text.overlap import content
from ...text.statements import agree, statement
from .ranking import Candidate, Sifted
from .salience import is_first_person

_FIRST: Final = 20
"""So many of the best are compared: no more are ever shown."""
_KIN: Final = "(?:老公|老婆|丈夫|妻子|媳妇|儿子|女儿|孩子|宝宝|男朋友|女朋友)"
"""Of one speaker alone; a family has the same 奶奶."""
OF_SPEAKER: Final = re.compile(
    f"用户|本人|自己|自家|^家里|^{_KIN}|"
    r"\bthe\suser\b|^(?:husband|wife|son|daughter|boyfriend|girlfriend)\b",
    re.IGNORECASE,
)
"""Says whose it is no more than 我 does: each speaker has his own daughter."""
_ALIKE: Final = 0.6
"""Share of the content of both that two texts have in common which may say the same."""
_AS_WELL: Final = 1.0
"""In log-odds."""


def merge_same_facts(sifted: Sifted) -> Sifted:
    """Each fact once, where the best of what tells it stands, told by whom most can be said for."""
    groups: list[tuple[frozenset[str], list[Candidate]]] = []
    for candidate in sifted.best[:_FIRST]:
        about = _about(candidate.passage)
        for others, group in groups:
            if _alike(about, others) and _same(group[0].passage, candidate.passage):
                group.append(candidate)
                break
        else:
            groups.append((about, [candidate]))
    told = [_one(group) for _, group in groups]
    return Sifted([*told, *sifted.best[_FIRST:]], sifted.below)


def stored_instead(sifted: Sifted, copied: Callable[[Passage], Collection[str]]) -> Sifted:
    """Without the turns of which something was stored that answers about as well: a turn that is
    not read yet may say more. ``copied`` tells the ids of what was stored of one."""
    entries = {one.key.memory_id: one for one in reversed(sifted.best)}
    best = [
        one
        for one in sifted.best
        if not any(
            said is not one and said.order > one.order - _AS_WELL
            for name in copied(one.passage)
            if (said := entries.get(name))
        )
    ]
    return Sifted(best, sifted.below)


def standing_first(sifted: Sifted, stands: Callable[[Passage], bool]) -> Sifted:
    """Where several people tell of one matter, what stands comes before what does not, and what a
    speaker has said of it again behind all others."""
    first = sifted.best[:_FIRST]
    if all(stands(one.passage) for one in first):
        return sifted
    matters: list[tuple[frozenset[str], list[Candidate]]] = []
    of: list[list[Candidate]] = []
    for candidate in first:
        about = _about(candidate.passage)
        same = (some for others, some in matters if about and _alike(about, others))
        if (told := next(same, None)) is None:
            matters.append((about, told := []))
        told.append(candidate)
        of.append(told)
    again: list[Candidate] = []
    for _, told in matters:
        told.sort(key=lambda one: not stands(one.passage))
        if not stands(told[-1].passage):
            again += [one for at, one in enumerate(told) if _has_spoken(one, told[:at])]
    left = {id(one) for one in again}
    ordered = [one for told in of if id(one := told.pop(0)) not in left]
    return Sifted([*ordered, *again, *sifted.best[_FIRST:]], sifted.below)


def _has_spoken(one: Candidate, before: Sequence[Candidate]) -> bool:
    return any(
        isinstance(one.passage, StoredMemory)
        and isinstance(other.passage, StoredMemory)
        and same_speaker(one.passage.memory, other.passage.memory)
        for other in before
    )


def once(entries: Iterable[StoredMemory]) -> list[tuple[StoredMemory, ...]]:
    """The same for entries that are listed: in their order, each with those that tell the same."""
    sifted = Sifted([Candidate(stored, 0.0) for stored in entries], [])
    found = []
    for candidate in merge_same_facts(sifted).best:
        told = (candidate, *candidate.also)
        found.append(tuple(c.passage for c in told if isinstance(c.passage, StoredMemory)))
    return found


def _one(group: Sequence[Candidate]) -> Candidate:
    """What is vouched for leads: it is that speaker's line."""
    best = group[0]
    first = next((one for one in group if _is_vouched(one.passage)), best)
    others = tuple(one for one in group if one is not first)
    return replace(first, relevance=best.relevance, score=best.score, also=others)


def _is_vouched(passage: Passage) -> bool:
    return isinstance(passage, StoredMemory) and passage.memory.provenance.vouched


def _same(first: Passage, second: Passage) -> bool:
    """Whether two speakers tell one fact. What reads like an order, or speaks of 我, is nobody
    else's line."""
    if not (isinstance(first, StoredMemory) and isinstance(second, StoredMemory)):
        return False
    one, other = first.memory, second.memory
    if one.memory_id == other.memory_id or same_speaker(one, other) or one.kind is not other.kind:
        return False
    if any(map(_is_ones_own, (one, other))) or _noted(one) != _noted(other):
        return False  # where the notes differ, one is settled, or done, and the other is not
    said = statement(one.judgment, one.created_at)
    again = statement(other.judgment, other.created_at)
    if said.vague or again.vague or not said.words:
        return False
    return agree(said.words, again.words)


def _is_ones_own(memory: Memory) -> bool:
    if memory.quoted or is_digest(memory) or is_first_person(memory.judgment):
        return True
    return OF_SPEAKER.search(memory.judgment) is not None


def _noted(memory: Memory) -> set[str]:
    worded = (MODEL_WORDED, REWORDED_BY)
    noted = without_anchor(memory).extra
    return {piece for piece in noted if not piece.startswith(worded)}


def _about(passage: Passage) -> frozenset[str]:
    return content(passage.memory.judgment if isinstance(passage, StoredMemory) else "")


def _alike(about: frozenset[str], others: frozenset[str]) -> bool:
    shared = len(about & others)
    return shared >= _ALIKE * (len(about) + len(others) - shared)
