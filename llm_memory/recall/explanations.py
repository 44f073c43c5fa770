"""Why a recall went as it did: noted as it ends, told to those who may see it. In memory, and
bounded; gone with the engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from ..index.passages import Passages
from ..models.data_models import StoredMemory
from ..models.passages import Key
from ..models.recall import Told, Trace
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
        if not (trace.notes or trace.milliseconds):  # nothing was looked for
            return
        self._log.append(Told(conversation, preview(query, _MOST_QUERY), self._clock(), trace))
        of = Counter(one.conversation for one in self._log)
        if of[conversation] > SHOWN:
            self._log.remove(next(one for one in self._log if one.conversation == conversation))
        elif len(self._log) > KEPT:
            several = (one for one in self._log if of[one.conversation] > 1)
            self._log.remove(next(several, self._log[0]))

    def of(self, conversation: str, scope_filter: ScopeFilter) -> list[Told]:
        """The newest first: recalls of a conversation whose every scope the reader may see now,
        with the words of what still lives and is visible.

        A map that changed meanwhile hides what was recalled under the old one.
        """
        seen = (one for one in self.all() if all(map(scope_filter.admits, one.trace.scopes)))
        return [self._shown(one, scope_filter) for one in seen if one.conversation == conversation]

    def all(self) -> list[Told]:
        """The newest first, of every conversation: for the owner of the files alone."""
        return self._log[::-1]

    def _shown(self, told: Told, scope_filter: ScopeFilter) -> Told:
        hits, instead_of = {}, {}
        for one in told.trace.considered:
            key = Key(one.scope_name, one.memory_id)
            passage = self._passages.get(key) if scope_filter.admits(key.scope) else None
            if passage is not None:
                hits[key.memory_id] = as_hit(Candidate(passage), self._settings.preview_chars)
            if isinstance(passage, StoredMemory) and (gone := predecessor(passage.memory)):
                instead_of[key.memory_id] = gone
        return replace(told, hits=hits, instead_of=instead_of)
