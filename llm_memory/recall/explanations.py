"""Why a recall went as it did: noted as it ends, told to those who may see it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from ..index.passages import Passages
from ..models.data_models import StoredMemory
from ..models.key import Key
from ..models.recall import GIVEN_UP, Considered, Explained, Hit, Told, Trace
from ..models.scope import ScopeFilter
from ..text.normalising import preview
from .rules.ranking import Candidate, as_hit
from .rules.successors import predecessors
from .trace_log import MOST_QUERY, TraceLog


class Explanations:
    """Of the last recalls. Their words are looked up when an explanation is asked for, within the
    asker's view."""

    def __init__(
        self, passages: Passages, preview_chars: int, clock: Callable[[], datetime]
    ) -> None:
        self._passages = passages
        self._preview_chars = preview_chars
        self._clock = clock
        self._log = TraceLog()

    def note(self, conversation: str, query: str, trace: Trace) -> None:
        """Keep for a while how a recall went."""
        if trace.candidates or trace.notes or trace.milliseconds:
            asked = preview(query, MOST_QUERY)
            self._log.note(Told(conversation, asked, self._clock(), trace))

    @contextmanager
    def noting_failure(
        self, conversation: str, query: str, scope_filter: ScopeFilter
    ) -> Iterator[None]:
        """A recall that comes to no end is noted, too: why nothing came is what one asks most."""
        began = time.perf_counter()
        try:
            yield
        except BaseException as error:
            why = GIVEN_UP if isinstance(error, asyncio.CancelledError) else type(error).__name__
            spent = {why: (time.perf_counter() - began) * 1000}
            trace = Trace(scopes=scope_filter.names, notes=(why,), milliseconds=spent)
            self.note(conversation, query, trace)
            raise

    def of(self, conversation: str, scope_filter: ScopeFilter) -> list[Explained]:
        """The last recalls of a conversation that the reader may see, with the words of what still
        lives and is visible."""
        return [
            self._explained(record, scope_filter)
            for record in self._log.of(conversation, scope_filter)
        ]

    def all(self) -> list[Told]:
        """The newest first, of every conversation: for the owner of the files alone."""
        return self._log.all()

    def clear(self) -> None:
        """Let go of everything."""
        self._log.clear()

    def _explained(self, record: Told, scope_filter: ScopeFilter) -> Explained:
        candidates: list[tuple[Considered, Hit | None]] = []
        instead_of: dict[str, tuple[str, ...]] = {}
        for considered in record.trace.considered:
            key = Key(considered.scope_name, considered.memory_id)
            passage = self._passages.get(key) if scope_filter.admits(key.scope) else None
            if passage is None:
                candidates.append((considered, None))
                continue
            hit = as_hit(Candidate(passage, 0.0), self._preview_chars)
            candidates.append((considered, hit))
            if isinstance(passage, StoredMemory) and (gone := predecessors(passage.memory)):
                instead_of[hit.memory_id] = gone
        return Explained(record, tuple(candidates), instead_of)
