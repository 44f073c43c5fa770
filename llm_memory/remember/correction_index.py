"""Corrections in memory, by scope and by entry, and how often those of a scope changed."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from datetime import datetime

from ..models.corrections import Correction, CorrectionKind
from ..models.scope import PUBLIC
from .rules.corrected import Removed


class CorrectionIndex:
    """What is asked by scope or entry comes the oldest first."""

    def __init__(self) -> None:
        self._removed: dict[int, Removed] = {}
        self._by_scope: dict[str, list[Removed]] = {}
        self._by_entry: dict[tuple[str, str], list[Removed]] = {}
        self._purged: set[tuple[str, str]] = set()
        self._changed_at: dict[str, int] = {}
        self.changes = 0
        """Counts the changes since the start."""

    def load(self, corrections: Iterable[Correction]) -> None:
        """Hold these alone."""
        self._removed = {one.number: Removed(one) for one in corrections}
        self._sort()

    def add(self, corrections: Iterable[Correction]) -> None:
        """Hold these too, as one change."""
        self.changes += 1
        for one in corrections:
            self._removed[one.number] = Removed(one)
            self._file(self._removed[one.number])

    def drop(self, numbers: Iterable[int]) -> None:
        """Hold these no more, as one change."""
        self.changes += 1
        self._unfile([self._removed.pop(n) for n in numbers if n in self._removed])

    def seal(self, sealed: Iterable[Correction]) -> None:
        """Put these in the place of those with their numbers. The same statements are corrected as
        before: no scope counts as changed."""
        self._removed.update((one.number, Removed(one)) for one in sealed)
        changed_at = dict(self._changed_at)
        self._sort()
        self._changed_at = changed_at

    def changes_of(self, scope: str) -> int:
        """Returns another number once a correction of the scope was recorded or dropped."""
        return self._changed_at.get(scope, 0)

    def all(self) -> Iterable[Removed]:
        """Returns every correction, in the order of their recording."""
        return self._removed.values()

    def of_scope(self, scope: str) -> Sequence[Removed]:
        """Returns what may not return to the scope."""
        return self._by_scope.get(scope, ())

    def of_entry(self, scope: str, memory_id: str) -> Sequence[Removed]:
        """Returns what was corrected of an entry, or of an id's keyed hash."""
        return self._by_entry.get((scope, memory_id), ())

    @property
    def purged(self) -> set[tuple[str, str]]:
        """Scope and id, or its keyed hash, of each entry whose words are sealed."""
        return self._purged

    def _sort(self) -> None:
        # Threads read these meanwhile: each is whole when it takes the former's place.
        by_scope: dict[str, list[Removed]] = {}
        by_entry: dict[tuple[str, str], list[Removed]] = {}
        purged = set()
        for _, one in sorted(self._removed.items(), key=lambda pair: pair[1].correction.at):
            for scope in _scopes(one.correction):
                by_scope.setdefault(scope, []).append(one)
                by_entry.setdefault((scope, one.correction.memory_id), []).append(one)
                if not one.correction.words:
                    purged.add((scope, one.correction.memory_id))
        former, self._by_scope = self._by_scope, by_scope
        self._by_entry, self._purged = by_entry, purged
        self.changes += 1
        for scope in {*former, *by_scope}:
            if former.get(scope) != by_scope.get(scope):
                self._changed_at[scope] = self.changes

    def _file(self, one: Removed) -> None:
        """Add to the lists by scope and by entry: in each the latest comes last."""
        for scope in _scopes(one.correction):
            entry = scope, one.correction.memory_id
            insort(self._by_scope.setdefault(scope, []), one, key=_at)
            insort(self._by_entry.setdefault(entry, []), one, key=_at)
            self._changed_at[scope] = self.changes
            if not one.correction.words:
                self._purged.add(entry)

    def _unfile(self, gone: Sequence[Removed]) -> None:
        numbers = {one.correction.number for one in gone}
        entries = {
            (scope, one.correction.memory_id) for one in gone for scope in _scopes(one.correction)
        }
        for scope in {scope for scope, _ in entries}:
            of_scope = self._by_scope[scope]
            self._by_scope[scope] = [r for r in of_scope if r.correction.number not in numbers]
            self._changed_at[scope] = self.changes
        for entry in entries:
            left = [r for r in self._by_entry[entry] if r.correction.number not in numbers]
            self._by_entry[entry] = left
            if all(one.correction.words for one in left):
                self._purged.discard(entry)


def _at(removed: Removed) -> datetime:
    return removed.correction.at


def _scopes(correction: Correction) -> tuple[str, ...]:
    """Returns the scopes to which it may not return. A moved statement is in its new scope already,
    and was not meant for all."""
    if correction.kind is not CorrectionKind.MOVED:
        return (correction.scope,)
    return tuple(dict.fromkeys((correction.scope, correction.target, PUBLIC.name)))
