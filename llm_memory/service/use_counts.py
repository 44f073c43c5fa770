"""How memories served: how often they were useful, in the state, and here, so that no recall waits
for it; and what they are weighed by at night, in the loop's book."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ..errors import StateUnavailable
from ..models.data_models import StoredMemory
from ..models.passages import Passage
from ..ports import Key, StateStore
from ..ports.loop import LoopBook
from .catalogue import entry_key, key_of


class UseCounts:
    """Read once, when the state is open; counted up with it from then on."""

    def __init__(self, state: StateStore, book: LoopBook) -> None:
        self._state = state
        self._book = book
        self._counts: dict[Key, int] = {}

    async def load(self) -> None:
        """What the state knows. Never raises for a state that cannot be read: nothing was used."""
        try:
            self._counts = await asyncio.to_thread(self._state.all_uses)
        except StateUnavailable:
            self._counts = {}

    def of(self, key: Key) -> int:
        """How often an entry was found useful, from memory. ``key``: its scope and id."""
        return self._counts.get(key, 0)

    def of_passage(self, passage: Passage) -> int:
        """The same of a passage, whoever may read it."""
        return self.of(entry_key(passage) if isinstance(passage, StoredMemory) else key_of(passage))

    async def count(self, keys: Sequence[Key]) -> None:
        """One more use of each. Raises StateUnavailable, and then nothing is counted."""
        await asyncio.to_thread(self._state.count_use, keys)
        for key in keys:
            self._counts[key] = self.of(key) + 1

    async def weigh(self, useful: Sequence[Key], useless: Sequence[Key]) -> None:
        """One more piece of evidence for each. Raises StateUnavailable."""
        if useful or useless:
            await asyncio.to_thread(self._book.count_evidence, useful, useless)
