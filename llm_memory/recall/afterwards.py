"""What is kept of a recall when it is over: how often memories served, and why it went so."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from ..catalogue.catalogue import entry_key
from ..errors import StateUnavailable
from ..index.passages import Passages
from ..log import logger
from ..models.data_models import StoredMemory
from ..models.passages import Key, Passage
from ..models.recall import Hit, Told, Trace
from ..models.scope import ScopeFilter
from ..models.settings import EngineSettings
from ..models.turns import Feedback
from ..runtime.lifecycle import shielded
from ..storage.loop_file import SqliteLoopFacts
from ..storage.state_store import SqliteStateStore
from ..text.normalising import preview
from .rules.order import Candidate, as_hit
from .rules.tell_once import predecessor

USEFUL: Final = 2
"""What it counts that a memory was found useful; that it was shown counts one."""
_WRITE_SECONDS: Final = 5.0
"""What was shown meanwhile is written at once. A crash loses that much of it, and no word."""
KEPT: Final = 300
"""Recalls of all conversations together. A busy one pushes out its own, no quiet one's last."""
SHOWN: Final = 5
"""Recalls of one conversation."""
_MOST_QUERY: Final = 200
"""Characters of a question that are kept."""


@dataclass(eq=False)
class UseCounts:
    """How often memories were shown and found useful: read once, and counted up with the state, so
    that no recall waits for it; and in the loop's book, by what they are weighed at night."""

    _passages: Passages
    _state: SqliteStateStore
    _book: SqliteLoopFacts
    _counts: Counter[Key] = field(default_factory=Counter)
    _unwritten: Counter[Key] = field(default_factory=Counter)

    async def load(self) -> None:
        """What the state knows. Never raises for a state that cannot be read: nothing was used."""
        with suppress(StateUnavailable):
            self._counts = Counter(await asyncio.to_thread(self._state.all_uses))

    def of(self, passage: Passage) -> int:
        """How often it served any reader, from memory. A note is not counted."""
        return self._counts[entry_key(passage)] if isinstance(passage, StoredMemory) else 0

    def show(self, hits: Iterable[Hit]) -> None:
        """The asker is shown these: counted now, written soon."""
        shown = (self._passages.get(Key(hit.scope_name, hit.memory_id)) for hit in hits)
        keys = [entry_key(one) for one in shown if isinstance(one, StoredMemory)]
        self._counts.update(keys)
        self._unwritten.update(keys)

    async def feedback(
        self, feedback: Feedback, scope_filter: ScopeFilter, *, recalled: Collection[str]
    ) -> int:
        """Count what helped, and what was shown and did not; returns how many ids counted for
        nothing. How an entry is weighed one day is changed in the reader's own scope alone, and
        only what was ``recalled`` can have been in the way. Raises StateUnavailable."""
        own = scope_filter.scopes[0].name

        def entries(ids: Iterable[str]) -> list[Key]:
            """Of those that the filter admits, the reader's own scope first."""
            keys = ([Key(name, one) for name in scope_filter.names] for one in ids)
            found = (next(filter(None, map(self._passages.get, some)), None) for some in keys)
            return [entry_key(one) for one in found if isinstance(one, StoredMemory)]

        useful = entries(feedback.useful_ids)
        useless = entries(one for one in feedback.useless_ids if one in recalled)
        helped, hindered = list(dict.fromkeys(useful)), [one for one in useless if one.scope == own]
        await asyncio.to_thread(self._state.count_use, helped * USEFUL)
        self._counts.update(helped * USEFUL)
        better = [key for key in helped if key.scope == own]
        worse = sorted({*hindered}.difference(helped))
        if better or worse:
            await asyncio.to_thread(self._book.count_evidence, better, worse)
        named = len(feedback.useful_ids) + len(feedback.useless_ids)
        return named - len(useful) - len(hindered)

    async def run(self) -> None:
        """Write what was shown, behind the turns, until cancelled."""
        while True:
            await asyncio.sleep(_WRITE_SECONDS)
            await self.write()

    async def write(self) -> None:
        """What was shown and is not written yet. Never raises: what cannot be written waits."""
        shown, self._unwritten = self._unwritten, Counter[Key]()
        if not shown:
            return
        try:
            await shielded(asyncio.to_thread(self._state.count_use, list(shown.elements())))
        except StateUnavailable as error:
            logger.debug("the use counts were not written: {}", error)
            self._unwritten.update(shown)


@dataclass(eq=False)
class Explanations:
    """Of the last recalls, bounded; gone with the engine. Their words are looked up when an
    explanation is asked for, within the asker's view. The ``log`` is for the owner alone."""

    _passages: Passages
    _settings: EngineSettings
    _clock: Callable[[], datetime]
    log: list[Told] = field(default_factory=list)

    def note(self, conversation: str, query: str, trace: Trace) -> None:
        """Keep for a while how a recall went."""
        self.log.append(Told(conversation, preview(query, _MOST_QUERY), self._clock(), trace))
        of = Counter(one.conversation for one in self.log)
        if of[conversation] > SHOWN:
            self.log.remove(next(one for one in self.log if one.conversation == conversation))
        elif len(self.log) > KEPT:
            several = (one for one in self.log if of[one.conversation] > 1)
            self.log.remove(next(several, self.log[0]))

    def of(self, conversation: str, scope_filter: ScopeFilter) -> Iterator[Told]:
        """The newest first: recalls of a conversation whose every scope the reader may see now,
        with the words of what lives and is visible: a map that changed meanwhile hides the rest."""
        here = [one for one in reversed(self.log) if one.conversation == conversation]
        seen = (one for one in here if all(map(scope_filter.admits, one.trace.scopes)))
        return (self._shown(one, scope_filter) for one in seen)

    def _shown(self, told: Told, scope_filter: ScopeFilter) -> Told:
        hits, instead_of = {}, {}
        for one in told.trace.considered:
            key = Key(one.scope_name, one.memory_id)
            if scope_filter.admits(key.scope) and (passage := self._passages.get(key)):
                hits[key.memory_id] = as_hit(Candidate(passage), self._settings.preview_chars)
                if isinstance(passage, StoredMemory):
                    instead_of[key.memory_id] = predecessor(passage.memory)
        return replace(told, hits=hits, instead_of=instead_of)
