"""How memories served: how often they were shown and found useful, in the state, and here, so that
no recall waits for it; and what they are weighed by at night, in the loop's book."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from ..catalogue.catalogue import entry_key, key_of
from ..errors import StateUnavailable
from ..log import logger
from ..models.data_models import StoredMemory
from ..models.key import Key
from ..models.passages import Passage
from ..runtime.shielded import shielded
from ..storage.loop_facts import SqliteLoopFacts
from ..storage.state_store import SqliteStateStore

USEFUL: Final = 2
"""What it counts that a memory was found useful; that it was shown counts one."""
_WRITE_SECONDS: Final = 5.0
"""What was shown meanwhile is written at once. A crash loses that much of it, and no word."""


class UseCounts:
    """Read once, when the state is open; counted up with it from then on."""

    def __init__(self, state: SqliteStateStore, book: SqliteLoopFacts) -> None:
        self._state = state
        self._book = book
        self._counts: dict[Key, int] = {}
        self._unwritten: Counter[Key] = Counter()
        self._shown = asyncio.Event()

    async def load(self) -> None:
        """What the state knows. Never raises for a state that cannot be read: nothing was used."""
        try:
            self._counts = await asyncio.to_thread(self._state.all_uses)
        except StateUnavailable:
            self._counts = {}

    def of(self, key: Key) -> int:
        """How often an entry served, from memory. ``key``: its scope and id."""
        return self._counts.get(key, 0)

    def of_passage(self, passage: Passage) -> int:
        """The same of a passage, for any reader."""
        return self.of(entry_key(passage) if isinstance(passage, StoredMemory) else key_of(passage))

    def show(self, passages: Iterable[Passage | None]) -> None:
        """A recall has shown these: counted now, written soon. A note is no memory."""
        for passage in passages:
            if isinstance(passage, StoredMemory):
                key = entry_key(passage)
                self._counts[key] = self.of(key) + 1
                self._unwritten[key] += 1
                self._shown.set()

    async def run(self) -> None:
        """Write what was shown, behind the turns, until cancelled."""
        while True:
            await self._shown.wait()
            await asyncio.sleep(_WRITE_SECONDS)
            await self.write()

    async def write(self) -> None:
        """What was shown and is not written yet. Never raises: what cannot be written waits."""
        self._shown.clear()
        shown, self._unwritten = self._unwritten, Counter()
        if shown:
            await shielded(self._write(shown))

    async def _write(self, shown: Counter[Key]) -> None:
        try:
            await asyncio.to_thread(self._state.count_use, list(shown.elements()))
        except StateUnavailable as error:
            logger.debug("使用次数未能写入：{}", error)
            self._unwritten.update(shown)

    async def count(self, keys: Sequence[Key]) -> None:
        """Each was found useful. Raises StateUnavailable, and then nothing is counted."""
        await asyncio.to_thread(self._state.count_use, [*keys] * USEFUL)
        for key in keys:
            self._counts[key] = self.of(key) + USEFUL

    async def weigh(self, useful: Sequence[Key], useless: Sequence[Key]) -> None:
        """One more piece of evidence for each. Raises StateUnavailable."""
        if useful or useless:
            await asyncio.to_thread(self._book.count_evidence, useful, useless)
