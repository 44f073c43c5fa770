"""Counts which person speaks under which name, and where."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from ..models.data_models import StoredMemory
from ..models.passages import place_name
from .rules.bylines import folded_name


class SpeakerIndex:
    """Updated with the catalogue. Persons are ``<adapter>:<id>``, empty if the account is
    unknown."""

    def __init__(self) -> None:
        self._bearers: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        self._in_place: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._in_conversation: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def clear(self) -> None:
        """Remove all counts."""
        for counted in (self._bearers, self._in_place, self._in_conversation):
            counted.clear()

    def add(self, stored: StoredMemory) -> None:
        """Count a memory that was added."""
        self._count(stored, 1)

    def remove(self, stored: StoredMemory) -> None:
        """Remove the counts of a memory that was added before."""
        self._count(stored, -1)

    def bearers(self, name: str, places: Iterable[str] | None = None) -> set[str]:
        """Returns the persons who spoke under a folded name, in any of the places; without places,
        anywhere."""
        found = self._bearers.get(name)
        if found is None:
            return set()
        wanted = None if places is None else frozenset(places)
        return {person for place, person in found if wanted is None or place in wanted}

    def people(self, place: str, conversation: str) -> set[str]:
        """Returns the persons with a memory in a place or from a conversation."""
        return {*self._in_place.get(place, ()), *self._in_conversation.get(conversation, ())}

    def _count(self, stored: StoredMemory, change: int) -> None:
        origin, place = stored.memory.provenance, place_name(stored)
        if origin.who:
            _change(self._bearers, folded_name(origin.who), (place, origin.account), change)
        if origin.account:
            _change(self._in_place, place, origin.account, change)
            _change(self._in_conversation, origin.conversation, origin.account, change)


def _change[T](counted: defaultdict[str, Counter[T]], key: str, one: T, change: int) -> None:
    counts = counted[key]
    counts[one] += change
    if counts[one] <= 0:
        del counts[one]
        if not counts:
            del counted[key]
