"""Decides whose words a conversation is shown without having asked. Pure.

The wording does not tell an attack from an ordinary remark, so it is not judged here. What counts
is the speaker: a person the owner vouches for, the person addressed, or a person whom the scope has
known for days.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import date, tzinfo
from typing import Final

from ...models.data_models import Memory, StoredMemory
from .timeline import has_day, local_day

FAMILIAR_DAYS: Final = 7
"""Different days on which a scope has to have learned something from a person."""


def familiar_people(entries: Iterable[StoredMemory], zone: tzinfo | None) -> frozenset[str]:
    """Returns the person ids of one scope's familiar people: trusted speakers, and speakers with
    entries on ``FAMILIAR_DAYS`` different days. The number of entries a day and the number of
    people who say something do not count: both are free to forge."""
    days: dict[str, set[date]] = {}
    trusted: set[str] = set()
    for stored in entries:
        person = stored.memory.speaker
        if not person:
            continue
        if stored.memory.provenance.trusted:
            trusted.add(person)
        elif has_day(stored):
            days.setdefault(person, set()).add(local_day(stored, zone))
    return frozenset(trusted | {one for one, on in days.items() if len(on) >= FAMILIAR_DAYS})


def may_be_volunteered(memory: Memory, familiar: Collection[str], asker: Collection[str]) -> bool:
    """Returns whether a memory may be shown to an asker who did not ask for it.

    Args:
        familiar: The person ids of ``familiar_people``, of the memory's own scope.
        asker: The person ids of the person addressed.
    """
    if memory.quoted:
        return False
    if memory.provenance.vouched:
        return True
    person = memory.speaker
    return bool(person) and (person in familiar or person in asker)
