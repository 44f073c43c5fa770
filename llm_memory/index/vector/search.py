"""Neighbours that a reader may see, found in the quickest way that finds them.

A filter costs Chroma time in proportion to all that match it: 0.2 s where half of 50,000 records
do. Three ways, and the same check in Python behind each of them:

- wide: ask for a neighbourhood without a filter, keep the visible. Milliseconds, and enough
  wherever the reader sees a fair part of what is near;
- small: a filter that matches a few hundred records has them all fetched and measured here, for
  Chroma would walk through everybody else's to find them;
- filtered: the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from ...models.scope import ScopeFilter
from ..chroma.scope_where import Condition, scope_where
from ..embedding.ports import Vector
from .collection_calls import matching, measured, metadata_of, nearest, neighbourhood
from .names import parse_id
from .ports import Neighbours
from .records import visible

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

MANY: Final = 5000
"""Records from which on a filter takes longer than looking round without one."""
SMALL: Final = 300
"""Matching records up to which fetching them takes less than a filtered query in a big store."""
WIDEST: Final = 5000
"""The most neighbours asked for at once."""

_LEAST: Final = 40
_SEEN_IN: Final = 4
"""The wide answer is taken if ``k`` visible ones are among the first ``4 k``."""
_BREADTH: Final = 8
"""Neighbours asked for per wanted one, twice as many as are looked at: Chroma's graph is searched
as widely as is asked for, and what comes late in an answer is incomplete."""
_EF_SEARCH: Final = 200
"""So widely it is searched in any case."""
_MOST_SKIPPED: Final = 31
_MOST_FILTERS: Final = 1000


class Ask(Protocol):
    """A call of Chroma's, translated and tried again by the store."""

    def __call__[T](self, doing: str, call: Callable[[Collection], T]) -> T: ...


@dataclass(slots=True)
class _FilterHistory:
    """What is known of a filter for which the wide way was not enough."""

    small: bool = False
    failures: int = 0
    skip: int = 0


class Search:
    """For one collection. Thread-safe: what threads may disagree on is the way, not the answer."""

    def __init__(self, ask: Ask, *, many: int = MANY, small: int = SMALL) -> None:
        self._ask = ask
        self._many = many
        self._small = small
        self._filter_history: dict[ScopeFilter, _FilterHistory] = {}

    def query(
        self, vector: Vector, scope_filter: ScopeFilter, k: int, size: Callable[[], int]
    ) -> Neighbours:
        """At most ``k`` visible neighbours, the nearest first. ``size`` counts the collection."""
        where = scope_where(scope_filter)
        if k <= 0 or k * _BREADTH > WIDEST or size() < self._many:
            return self._filtered(vector, scope_filter, where, k)
        habit = self._filter_history.get(scope_filter)
        if habit is not None and habit.small:
            return self._measured(vector, scope_filter, where, k, habit)
        if habit is not None and habit.skip > 0:
            habit.skip -= 1
            return self._filtered(vector, scope_filter, where, k)
        found = self._wide(vector, scope_filter, k)
        if found is not None:
            self._filter_history.pop(scope_filter, None)
            return found
        habit = self._starved(scope_filter)
        if self._ask("query", partial(matching, where, self._small + 1)) <= self._small:
            return self._measured(vector, scope_filter, where, k, habit)
        return self._filtered(vector, scope_filter, where, k)

    def _measured(
        self,
        vector: Vector,
        scope_filter: ScopeFilter,
        where: Mapping[str, Condition],
        k: int,
        habit: _FilterHistory,
    ) -> Neighbours:
        answer = self._ask("query", partial(measured, vector, where, self._small + 1))
        habit.small = len(answer) <= self._small
        if not habit.small:  # it has grown
            return self._filtered(vector, scope_filter, where, k)
        neighbours = visible(answer, scope_filter)
        found = sorted(neighbours.found, key=lambda neighbour: -neighbour.similarity)
        return Neighbours(tuple(found[:k]), neighbours.dropped)

    def _starved(self, scope_filter: ScopeFilter) -> _FilterHistory:
        """The more often in a row, the longer the wide way is not tried again."""
        if len(self._filter_history) >= _MOST_FILTERS:
            self._filter_history.clear()
        habit = self._filter_history.setdefault(scope_filter, _FilterHistory())
        habit.failures += 1
        habit.skip = min(2**habit.failures - 1, _MOST_SKIPPED)
        return habit

    def _wide(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours | None:
        """None where fewer than ``k`` visible ones are near enough to be sure of them.

        Ids are enough to begin with, for they name the scope; the few that may be visible are then
        looked at. Those of other scopes are nothing to count: Chroma was not asked to omit them.
        """
        reach = max(_LEAST, _SEEN_IN * k)
        limit = max(_EF_SEARCH, _BREADTH * k)
        near = self._ask("query", partial(neighbourhood, vector, limit))[:reach]
        likely = [item for item in near if scope_filter.admits(parse_id(item[0]).scope)][:k]
        if len(likely) < k:
            return None
        stored = self._ask("query", partial(metadata_of, [identifier for identifier, _ in likely]))
        answer = [
            (identifier, stored[identifier], distance)
            for identifier, distance in likely
            if identifier in stored
        ]
        neighbours = visible(answer, scope_filter)
        return neighbours if len(neighbours.found) == k else None

    def _filtered(
        self, vector: Vector, scope_filter: ScopeFilter, where: Mapping[str, Condition], k: int
    ) -> Neighbours:
        k = max(k, 0)
        wanted = max(k, 1)
        while True:
            answer = self._ask("query", partial(nearest, vector, where, wanted))
            neighbours = visible(answer, scope_filter)
            enough = len(neighbours.found) >= k or len(answer) < wanted or wanted >= WIDEST
            if enough or not neighbours.dropped:
                return Neighbours(neighbours.found[:k], neighbours.dropped)
            wanted = min(wanted * 4, WIDEST)  # a damaged record takes no sound one's place
