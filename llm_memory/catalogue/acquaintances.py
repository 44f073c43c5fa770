"""Finds the people a scope has known for days, and the entries that may be shown unasked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from typing import Final

from ..models.conversation import Actor
from ..models.data_models import StoredMemory
from ..models.scope import Scope, ScopeFilter
from .catalogue import Catalogue
from .rules.acquaintance import familiar_people, may_be_volunteered

_DAYS_BACK: Final = 180
_READ: Final = 5_000
"""The newest entries of a scope that are read."""


class Acquaintances:
    """Asks the catalogue; stateless. ``linked`` returns all ids of a person, given one."""

    def __init__(self, catalogue: Catalogue, linked: Callable[[str], Collection[str]]) -> None:
        self._catalogue = catalogue
        self._linked = linked

    def of(self, scope: Scope, now: datetime, *, conversation: str = "") -> frozenset[str]:
        """Returns the person ids of a scope's familiar people; in public, which has strangers, of
        one conversation alone."""
        first = (now - timedelta(days=_DAYS_BACK)).date()
        entries: Iterable[StoredMemory] = self._catalogue.of_days(
            first, now.date(), ScopeFilter((scope,)), now.tzinfo, _READ
        )
        if scope.is_public:
            entries = (s for s in entries if s.memory.provenance.conversation == conversation)
        return familiar_people(entries, now.tzinfo)

    def volunteered(
        self, entries: Iterable[StoredMemory], familiar: frozenset[str], asker: Actor | None
    ) -> list[StoredMemory]:
        """Returns the entries that may be shown unasked; ``asker`` is None for a text without a
        particular reader."""
        own = () if asker is None else self._linked(asker.person)
        return [stored for stored in entries if may_be_volunteered(stored.memory, familiar, own)]
