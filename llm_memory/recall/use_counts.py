"""How memories served: how often they were shown and found useful, in the state, and here, so that
no recall waits for it; and the evidence by which they are weighed at night, in the loop's book."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from ..catalogue.catalogue import entry_key, key_of
from ..errors import StateUnavailable
from ..index.passages import Passages
from ..log import logger
from ..models.data_models import StoredMemory
from ..models.passages import Key, Passage
from ..models.recall import Hit
from ..models.scope import ScopeFilter
from ..models.turns import Feedback
from ..runtime.shielded import shielded
from ..storage.loop_facts import SqliteLoopFacts
from ..storage.state_store import SqliteStateStore

USEFUL: Final = 2
"""What it counts that a memory was found useful; that it was shown counts one."""
_WRITE_SECONDS: Final = 5.0
"""What was shown meanwhile is written at once. A crash loses that much of it, and no word."""


@dataclass(eq=False)
class UseCounts:
    """Read once, when the state is open; counted up with it from then on."""

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
        """How often it served any reader, from memory."""
        key = entry_key(passage) if isinstance(passage, StoredMemory) else key_of(passage)
        return self._counts[key]

    def show(self, hits: Iterable[Hit]) -> None:
        """The asker is shown these: counted now, written soon. A note is no memory."""
        shown = (self._passages.get(Key(hit.scope_name, hit.memory_id)) for hit in hits)
        keys = [entry_key(one) for one in shown if isinstance(one, StoredMemory)]
        self._counts.update(keys)
        self._unwritten.update(keys)

    async def feedback(
        self, feedback: Feedback, scope_filter: ScopeFilter, *, recalled: Collection[str]
    ) -> tuple[tuple[str, ...], int]:
        """Count what helped, and what was shown and did not: the ids that were counted as helpful,
        and how many of all counted for nothing. How an entry is weighed one day is changed in the
        reader's own scope alone, and only what was ``recalled`` can have been in the way. Raises
        StateUnavailable."""
        own = scope_filter.scopes[0].name
        useful = [self._admitted(one, scope_filter) for one in feedback.useful_ids]
        shown = (one for one in feedback.useless_ids if one in recalled)
        useless = (self._admitted(one, scope_filter) for one in shown)
        helped = list(dict.fromkeys(filter(None, useful)))
        hindered = [key for key in useless if key is not None and key.scope == own]
        await asyncio.to_thread(self._state.count_use, helped * USEFUL)
        self._counts.update(helped * USEFUL)
        better = [key for key in helped if key.scope == own]
        worse = sorted({*hindered}.difference(helped))
        if better or worse:
            await asyncio.to_thread(self._book.count_evidence, better, worse)
        dropped = useful.count(None) + len(feedback.useless_ids) - len(hindered)
        return tuple(key.memory_id for key in helped), dropped

    def _admitted(self, memory_id: str, scope_filter: ScopeFilter) -> Key | None:
        """The entry of a memory that the filter admits, the reader's own scope first. A note is
        none."""
        found = (self._passages.get(Key(name, memory_id)) for name in scope_filter.names)
        return next((entry_key(one) for one in found if isinstance(one, StoredMemory)), None)

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
