"""What is to become of all records of other plugins' stores: each ends in one of four ways, and
what says the same in the same scope becomes one memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from ...models.data_models import Memory
from ...models.migration import Fate, Outcome
from ...models.passages import Key
from ...models.scope import PUBLIC_NAME, QUARANTINE_NAME
from .legacy_records import (
    ILLEGAL_NAME,
    Adopted,
    Broken,
    Judged,
    Quarantined,
    adopted_id,
    merged,
    quarantined,
)


class Each(Protocol):
    """Goes through items in their order."""

    def __call__[T](self, items: Iterable[T], /) -> Iterator[T]:
        """The items."""
        ...


@dataclass(frozen=True, slots=True)
class Planned:
    """What is to become of one record. ``scope`` and ``memory_id`` are empty for a broken one."""

    record_id: str
    fate: Fate
    scope: str = ""
    memory_id: str = ""
    reason: str = ""

    @property
    def key(self) -> Key:
        """Of its memory: where that is to stand."""
        return Key(self.scope, self.memory_id)

    def outcome(self, fate: Fate | None = None, *, patched: bool | None = None) -> Outcome:
        """Returns what became of it: what was planned, or another fate."""
        return Outcome(
            self.record_id, fate or self.fate, patched, self.scope, self.memory_id, self.reason
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """``planned`` has one of each record, in their order; ``memories`` by scope and id."""

    planned: tuple[Planned, ...]
    memories: dict[Key, Memory]


def plan(
    records: Iterable[tuple[str, Judged]],
    *,
    scopes: Collection[str],
    lives: Collection[str] = (),
    gone: Collection[str] = (),
    each: Each = iter,
) -> Plan:
    """Args:
    records: Each with an id of its own. Stores that know better come first.
    scopes: The names of the scopes that there are.
    lives: The ids of what is recallable: it is joined.
    gone: The ids of what was there. What lives no more is joined, too, and not brought.
    each: How many thousands are gone through: who plans them may give others their turn.
    """
    return _Planning(scopes, lives, gone, each).run(list(records))


@dataclass(slots=True)
class _Planning:
    scopes: Collection[str]
    lives: Collection[str]
    gone: Collection[str]
    each: Each
    memories: dict[Key, Memory] = field(default_factory=dict)
    owners: dict[str, list[str]] = field(default_factory=dict)
    """By judgment: the scopes of the records that state one."""
    waiting: dict[str, str] = field(default_factory=dict)
    """By judgment: the id of the memory in quarantine that says it."""

    def run(self, records: list[tuple[str, Judged]]) -> Plan:
        legal = self._as_the_later_says(self._without_clashes(records))
        found: dict[str, Planned] = {}
        # First those that state a scope: one from before scopes may be the same memory.
        for record_id, judged in self.each(legal):
            match judged:
                case Broken(reason=reason):
                    found[record_id] = Planned(record_id, "broken", reason=reason)
                case Adopted(stated=False):
                    pass
                case Adopted(scope=scope, memory=memory):
                    names = self.owners.setdefault(memory.judgment, [])
                    if scope.name not in names:
                        names.append(scope.name)
                    found[record_id] = self._put(record_id, scope.name, memory, "adopted")
                case Quarantined(memory=memory, reason=reason):
                    self.waiting.setdefault(memory.judgment, memory.memory_id)
                    found[record_id] = self._put(
                        record_id, QUARANTINE_NAME, memory, "quarantined", reason
                    )
        for record_id, judged in self.each(legal):
            if isinstance(judged, Adopted) and not judged.stated:
                found[record_id] = self._put_unstated(record_id, judged.memory)
        if not_brought := set(self.gone) - set(self.lives):
            kept = self.each(self.memories.items())
            self.memories = {key: one for key, one in kept if key.memory_id not in not_brought}
        return Plan(tuple(found[record_id] for record_id, _ in legal), self.memories)

    def _without_clashes(self, records: list[tuple[str, Judged]]) -> list[tuple[str, Judged]]:
        """A name that differs only in case from one that there is, is none: on a disk that folds
        case the two would be one."""
        taken = {name.lower(): name for name in sorted(self.scopes)} | {PUBLIC_NAME: PUBLIC_NAME}
        found: list[tuple[str, Judged]] = []
        for record_id, judged in self.each(records):
            kept = judged
            if isinstance(judged, Adopted):
                name = judged.scope.name
                known = taken.setdefault(name.lower(), name)
                if known != name and name not in self.scopes:
                    kept = quarantined(judged.memory, name, ILLEGAL_NAME)
            found.append((record_id, kept))
        return found

    def _as_the_later_says(self, records: list[tuple[str, Judged]]) -> list[tuple[str, Judged]]:
        """An earlier store's "public" may have been filled in where nothing stood: it states
        nothing where the later one says that these words are private."""
        known: dict[str, set[str]] = {}
        for _, judged in self.each(records):
            if isinstance(judged, Adopted) and judged.later:
                known.setdefault(judged.memory.judgment, set()).add(judged.scope.name)
        found: list[tuple[str, Judged]] = []
        for record_id, judged in self.each(records):
            kept = judged
            if isinstance(judged, Adopted) and judged.scope.is_public and not judged.later:
                scopes = known.get(judged.memory.judgment)
                if scopes and PUBLIC_NAME not in scopes:
                    kept = replace(judged, stated=False)
            found.append((record_id, kept))
        return found

    def _put(
        self, record_id: str, scope: str, memory: Memory, fate: Fate, reason: str = ""
    ) -> Planned:
        """The first of those that say the same is what its fate says; the others join it."""
        key = Key(scope, memory.memory_id)
        known = self.memories.get(key)
        self.memories[key] = memory if known is None else merged(known, memory)
        joins = known is not None or self._stands(memory.memory_id)
        return Planned(record_id, "merged" if joins else fate, *key, reason)

    def _put_unstated(self, record_id: str, memory: Memory) -> Planned:
        """From before scopes: public, unless the same words stand under a scope that somebody
        stated. Then it is that memory, and saying it in public would show it to others."""
        names = self.owners.get(memory.judgment) or [
            name for name in sorted(self.scopes) if self._stands(adopted_id(name, memory.judgment))
        ]
        if not names and (waits := self.waiting.get(memory.judgment)) is not None:
            joins = replace(memory, memory_id=waits)
            return self._put(record_id, QUARANTINE_NAME, joins, "quarantined")
        name = PUBLIC_NAME if PUBLIC_NAME in names or not names else names[0]
        own = replace(memory, memory_id=adopted_id(name, memory.judgment))
        return self._put(record_id, name, own, "adopted")

    def _stands(self, memory_id: str) -> bool:
        return memory_id in self.lives or memory_id in self.gone
