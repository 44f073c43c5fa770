"""Counts which person speaks under which name, and where."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime

from ..models.data_models import Source, StoredMemory
from ..models.passages import place_name
from .rules.bylines import folded_name


class SpeakerIndex:
    """Updated with the catalogue. Persons are ``<adapter>:<id>``, empty if the account is
    unknown."""

    def __init__(self) -> None:
        self._bearers: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        self._in_place: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._in_conversation: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._names: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        self._heard: dict[tuple[str, tuple[str, str]], datetime] = {}
        """When a person last spoke under a name in a place."""

    def clear(self) -> None:
        """Remove all counts."""
        for counted in (self._bearers, self._in_place, self._in_conversation, self._names):
            counted.clear()
        self._heard.clear()

    def add(self, stored: StoredMemory) -> None:
        """Count a memory that was added."""
        self._count(stored, 1)

    def remove(self, stored: StoredMemory) -> None:
        """Remove the counts of a memory that was added before."""
        self._count(stored, -1)

    def hear(self, person: str, name: str, place: str, at: datetime) -> None:
        """Note that a person speaks under a name in a place."""
        self._count_name(person, name, place, at, 1)

    def bearers(self, name: str, places: Iterable[str] | None = None) -> set[str]:
        """Returns the persons who spoke under a folded name, in any of the places; without places,
        anywhere."""
        found = self._bearers.get(name)
        if found is None:
            return set()
        wanted = None if places is None else frozenset(places)
        return {person for place, person in found if wanted is None or place in wanted}

    def names(self, persons: Iterable[str], places: Collection[str]) -> dict[str, datetime]:
        """Returns the names under which some persons spoke in any of the places, and when last."""
        found: dict[str, datetime] = {}
        for person in persons:
            for place, name in self._names.get(person, ()):
                if place in places:
                    at = self._heard[person, (place, name)]
                    found[name] = max(found.get(name, at), at)
        return found

    def people(self, place: str, conversation: str) -> set[str]:
        """Returns the persons with a memory in a place or from a conversation."""
        return {*self._in_place.get(place, ()), *self._in_conversation.get(conversation, ())}

    def _count(self, stored: StoredMemory, change: int) -> None:
        origin, place = stored.memory.provenance, place_name(stored)
        if origin.who and origin.account and origin.source is not Source.AGENT:
            at = stored.memory.created_at
            self._count_name(origin.account, origin.who, place, at, change)
        elif origin.who:
            _change(self._bearers, folded_name(origin.who), (place, origin.account), change)
        if origin.account:
            _change(self._in_place, place, origin.account, change)
            _change(self._in_conversation, origin.conversation, origin.account, change)

    def _count_name(self, person: str, name: str, place: str, at: datetime, change: int) -> None:
        _change(self._bearers, folded_name(name), (place, person), change)
        _change(self._names, person, (place, name), change)
        heard = person, (place, name)
        self._heard[heard] = max(self._heard.get(heard, at), at)


def _change[T](counted: defaultdict[str, Counter[T]], key: str, one: T, change: int) -> None:
    counts = counted[key]
    counts[one] += change
    if counts[one] <= 0:
        del counts[one]
        if not counts:
            del counted[key]
