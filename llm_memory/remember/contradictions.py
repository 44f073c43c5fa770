"""Writes statements that take the place of what they contradict."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from ..catalogue.rules.closing import closed_by
from ..catalogue.rules.event_day import is_another_event
from ..index.rules.deduplication import same_speaker
from ..models.data_models import (
    Memory,
    MemoryDraft,
    Reinforced,
    RememberOutcome,
    Replaced,
    Stored,
    StoredMemory,
)
from ..models.deeds import DeedKind
from ..models.scope import Scope
from ..recall.rules.newer import Statement, features, may_follow, weight
from ..recall.weights import Linear
from ..text.overlap import content, is_model_worded
from ..text.statements import agree, statement
from .deeds import Deeds
from .memory_handlers import MemoryHandlers
from .near_duplicates import NearDuplicates
from .rules.contradiction import (
    Said,
    Taken,
    Taking,
    contradicts,
    ends,
    subject,
    taken_back,
    tell_a_value,
)
from .rules.corrected import named

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


class ContradictingWrites:
    """Looks at what is stored already after a new statement that may contradict it. A crash in
    between leaves both.

    ``model`` tells from two statements whether the later one says how it stands now, as it does
    for recall.
    """

    def __init__(
        self,
        handlers: MemoryHandlers,
        near: NearDuplicates,
        corrected: Deeds,
        model: Linear,
    ) -> None:
        self._handlers = handlers
        self._near = near
        self._corrected = corrected
        self._model = model

    async def write(
        self,
        draft: MemoryDraft,
        scope: Scope,
        *,
        conversation: str,
        trusted: bool,
        role: str,
        memory_id: str = "",
    ) -> RememberOutcome:
        """As ``MemoryHandlers.write``, without the words by which the draft calls itself a
        correction. Returns Replaced where the draft contradicts what the same speaker said for
        certain, ``Stored.conflict`` where it may contradict anything else."""
        taken = await asyncio.to_thread(_taken_back, draft)
        if taken.named:
            draft = replace(draft, judgment=taken.said)
        outcome = await self._handlers.write(
            draft,
            scope,
            conversation=conversation,
            trusted=trusted,
            role=role,
            memory_id=memory_id,
        )
        again = isinstance(outcome, Reinforced) and taken.how is Taking.TELLS
        if again or not isinstance(outcome, Stored | Reinforced):
            return outcome
        near = await self._near.sharing_words(outcome.memory, latest=taken.named)
        find = partial(_contradicted, outcome.memory.memory, taken, near, self._model)
        sure, found = await asyncio.to_thread(find)
        if sure and found and await self._handlers.supersede(found, outcome.memory):
            # Earlier turns that are still unread may say the old words again.
            at = outcome.memory.memory.created_at
            kind = DeedKind.TAKEN_BACK
            await self._corrected.note(kind, found, at=at)
            return Replaced(outcome.memory, found, outcome.redacted)
        if isinstance(outcome, Reinforced):
            return outcome
        return replace(outcome, conflict=found, missed=found is None and taken.named)


def _taken_back(draft: MemoryDraft) -> Taken:
    """How a draft takes something back, by its words or by those that a model has heard."""
    found = taken_back(draft.judgment)
    if draft.heard is None or found.how is Taking.CORRECTS:
        return found
    name = "" if draft.actor is None else draft.actor.name
    heard = taken_back(draft.heard)
    if heard.how is Taking.CORRECTS and not is_model_worded(draft.judgment, draft.heard, name):
        return replace(heard, said=draft.judgment)
    return found


def _contradicted(
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
        certain = not is_another_event(new, old) and contradicts(_said(mine), _said(yours))
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


def _read(memory: Memory) -> Statement:
    """A memory with its speaker's name for the first person; his own if it speaks of him."""
    text, who = named(memory.judgment, memory.provenance.who), memory.provenance.who
    read = Statement.of(replace(memory, judgment=text), frozenset({who} - {""}))
    own = bool(who) and who in text
    return replace(read, own=own, named=frozenset({who}) if own else frozenset())


def _score(new: Statement, old: Statement, taken: Taken, model: Linear) -> float | None:
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


def _points_at(new: Statement, old: Statement, taken: Taken) -> bool:
    """Whether a correction names what the old statement says as what is not so; or, where it names
    nothing, says no more than another value of the same: 不对，是三片."""
    if taken.dropped:
        dropped = content(taken.dropped) - _OF_DATES
        return bool(dropped) and 2 * len(dropped & content(old.memory.judgment)) > len(dropped)
    units = old.values.keys() & new.values.keys()
    other = any(old.values[unit].isdisjoint(new.values[unit]) for unit in units)
    return other and new.about <= old.about


def _said(one: Statement) -> Said:
    return Said(one.memory.judgment, one.memory.created_at)


def _may_replace(new: Memory, old: Memory) -> bool:
    vouched = old.provenance.vouched and not new.provenance.vouched
    return same_speaker(new, old) and not vouched and not new.model_worded
