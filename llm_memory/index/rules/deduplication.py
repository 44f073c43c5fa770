"""Whether a new memory says something new. The neighbour proposes, guards decide. Pure.

A wrong merge loses a memory, a missed one costs a line. So similarity alone never merges: an
embedding hardly tells 过敏 from 不过敏, or room 301 from 302. Only the same speaker's statements
merge, and only where nothing but known harmless differences stands between them (``statements``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from ...catalogue.rules.event_day import is_another_event
from ...models.data_models import Memory, MemoryKind, Source, StoredMemory
from ...text.statements import Statement, agree, extends, statement


class MergeThresholds(NamedTuple):
    """Similarities from which on a neighbour is worth a closer look: the two may be one statement
    in other words; the new one may be the old one, told again with more."""

    reinforce: float
    replace: float


CAUTIOUS = MergeThresholds(reinforce=0.92, replace=0.85)
"""For cosine similarities, whatever the model."""

ANY = MergeThresholds(reinforce=1e-6, replace=1e-6)
"""For neighbours that were proposed by their words: the guards look at each of them."""

_SAME_TIMES = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class Reinforce:
    """The stored one says all of it already; it grows stronger, its text stays."""

    stored: StoredMemory


@dataclass(frozen=True, slots=True)
class Replace:
    """The new one says all that the stored one says: it takes its place."""

    stored: StoredMemory


Decision = Reinforce | Replace | None
"""None: nothing stored says it, and it becomes an entry of its own."""


def decide(
    new: Memory, neighbours: Sequence[tuple[StoredMemory, float]], thresholds: MergeThresholds
) -> Decision:
    """What becomes of ``new``.

    Args:
        new: About to be written.
        neighbours: Stored memories of the scope that is written to, and of no other, with their
            cosine similarity; in any order.
        thresholds: The embedder's own.
    """
    said: Statement | None = None
    for stored, similarity in sorted(neighbours, key=lambda pair: -pair[1]):
        if not similarity >= thresholds.replace:  # NaN, too
            break
        old = stored.memory
        one_is_task = MemoryKind.TASK in (new.kind, old.kind) and new.kind is not old.kind
        if one_is_task or not same_speaker(new, old):
            continue
        said = said or statement(new.judgment, new.created_at)
        reinforces = similarity >= thresholds.reinforce
        decision = _compare(said, new.created_at, stored, reinforces=reinforces)
        if decision is not None and not is_another_event(new, old):
            return decision
    return None


def _compare(
    said: Statement, said_at: datetime, stored: StoredMemory, *, reinforces: bool
) -> Decision:
    known = statement(stored.memory.judgment, stored.memory.created_at)
    if not said.words or not known.words:
        return None
    if (said.vague or known.vague) and abs(said_at - stored.memory.created_at) > _SAME_TIMES:
        return None  # 最近 is another time by now
    same = agree(said.words, known.words)
    if reinforces and (same or extends(known, said)):
        return Reinforce(stored)
    return Replace(stored) if same or extends(said, known) else None


def same_speaker(one: Memory, other: Memory) -> bool:
    """By the person's id; by name where neither has one. Who is unknown is nobody's same, and what
    an agent stored on a person's behalf is not that person's word."""
    mine, yours = one.provenance, other.provenance
    if (mine.source is Source.AGENT) != (yours.source is Source.AGENT):
        return False
    if mine.account != yours.account:
        return False  # a file replaces no person's own statement
    if mine.person or yours.person:
        return mine.person == yours.person
    return bool(mine.who) and mine.who == yours.who
