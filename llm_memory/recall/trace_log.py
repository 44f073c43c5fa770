"""The last recalls, so that one can be asked why. In memory, and bounded; gone with the engine."""

from __future__ import annotations

from collections import deque

from ..models.recall import Told
from ..models.scope import ScopeFilter

KEPT = 50
"""Recalls of all conversations together."""
SHOWN = 5
MOST_QUERY = 200
"""Characters of a question that are kept."""


class TraceLog:
    """What is shown goes by what the reader may see now, not by what the asker saw then."""

    def __init__(self) -> None:
        self._records: deque[Told] = deque(maxlen=KEPT)

    def note(self, record: Told) -> None:
        """The oldest of too many goes."""
        self._records.append(record)

    def of(self, conversation: str, scope_filter: ScopeFilter) -> list[Told]:
        """The newest first: recalls of that conversation whose every scope the reader may see.

        A map that changed meanwhile hides what was recalled under the old one.
        """
        return [
            record
            for record in reversed(self._records)
            if record.conversation == conversation
            and all(scope_filter.admits(name) for name in record.trace.scopes)
        ][:SHOWN]

    def all(self) -> list[Told]:
        """The newest first, of every conversation: for the owner of the files alone."""
        return list(reversed(self._records))

    def clear(self) -> None:
        """Let go of everything."""
        self._records.clear()
