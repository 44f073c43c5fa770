"""Why a recall went as it did: noted as it ends, told to those who may see it. In memory, and
bounded; gone with the engine."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from ..index.passages import Passages
from ..models.data_models import StoredMemory
from ..models.passages import Key
from ..models.recall import GIVEN_UP, Considered, Explained, Hit, Told, Trace
from ..models.scope import ScopeFilter
from ..models.settings import EngineSettings
from ..text.normalising import preview
from .rules.choosing import Candidate, as_hit
from .rules.tell_once import predecessor

KEPT = 300
"""Recalls of all conversations together. A busy one pushes out its own, no quiet one's last."""
SHOWN = 5
"""Recalls of one conversation."""
_MOST_QUERY = 200
"""Characters of a question that are kept."""


@dataclass(eq=False)
class Explanations:
    """Of the last recalls. Their words are looked up when an explanation is asked for, within the
    asker's view."""

    _passages: Passages
    _settings: EngineSettings
    _clock: Callable[[], datetime]
    _log: list[Told] = field(default_factory=list)

    def note(self, conversation: str, query: str, trace: Trace) -> None:
        """Keep for a while how a recall went."""
        if not (trace.candidates or trace.notes or trace.milliseconds):
            return
        self._log.append(Told(conversation, preview(query, _MOST_QUERY), self._clock(), trace))
        of = Counter(one.conversation for one in self._log)
        if of[conversation] > SHOWN:
            self._log.remove(next(one for one in self._log if one.conversation == conversation))
        elif len(self._log) > KEPT:
            several = (one for one in self._log if of[one.conversation] > 1)
            self._log.remove(next(several, self._log[0]))

    @contextmanager
    def noting_failure(
        self, conversation: str, query: str, scope_filter: ScopeFilter
    ) -> Iterator[None]:
        """A recall that comes to no end is noted, too: why nothing came is what one asks most."""
        try:
            yield
        except BaseException as error:
            why = GIVEN_UP if isinstance(error, asyncio.CancelledError) else type(error).__name__
            self.note(conversation, query, Trace(scopes=scope_filter.names, notes=[why]))
            raise

    def of(self, conversation: str, scope_filter: ScopeFilter) -> list[Explained]:
        """The newest first: recalls of a conversation whose every scope the reader may see now,
        with the words of what still lives and is visible.

        A map that changed meanwhile hides what was recalled under the old one.
        """
        seen = (one for one in self.all() if all(map(scope_filter.admits, one.trace.scopes)))
        return [
            self._explained(one, scope_filter) for one in seen if one.conversation == conversation
        ]

    def all(self) -> list[Told]:
        """The newest first, of every conversation: for the owner of the files alone."""
        return self._log[::-1]

    def clear(self) -> None:
        """Let go of everything."""
        self._log.clear()

    def _explained(self, told: Told, scope_filter: ScopeFilter) -> Explained:
        candidates: list[tuple[Considered, Hit | None]] = []
        instead_of: dict[str, str] = {}
        for considered in told.trace.considered:
            key = Key(considered.scope_name, considered.memory_id)
            passage = self._passages.get(key) if scope_filter.admits(key.scope) else None
            hit = as_hit(Candidate(passage), self._settings.preview_chars) if passage else None
            candidates.append((considered, hit))
            if isinstance(passage, StoredMemory):
                instead_of[key.memory_id] = predecessor(passage.memory)
        return Explained(told, tuple(candidates), instead_of)
