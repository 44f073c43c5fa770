"""Finds entries of the scope being written to that say the same in other words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Final

from ..catalogue.catalogue import Catalogue, key_of
from ..errors import EmbeddingFailed, IndexUnavailable
from ..index.arrays import np
from ..index.records import WordQuery
from ..index.rules.deduplication import (
    ANY,
    CAUTIOUS,
    Decision,
    MergeThresholds,
    decide,
    same_speaker,
)
from ..index.semantic import Semantic
from ..index.word_index import WordIndex
from ..models.data_models import Memory, StoredMemory
from ..models.passages import Key, place_name, readers
from ..models.scope import Scope
from ..runtime.cooperative import cooperative
from ..text.normalising import embedded_text
from ..text.overlap import shortlist
from ..text.scripts import fold

NEAREST: Final = 10
_ASKED: Final = 50
"""Neighbours requested from the index: some are unread turns, which are skipped."""
BY_WORDS: Final = 100
"""Of so many recall hits, those that share the most words are compared."""
_JUST_SAID: Final = timedelta(days=3)


@dataclass(eq=False)
class NearDuplicates:
    """Asks the vector index or, without one, the word index: of the scope being written to, and no
    other. ``_seconds``: after this time it does without."""

    _catalogue: Catalogue
    indexing: Semantic
    _words: WordIndex
    _seconds: float

    @property
    def thresholds(self) -> MergeThresholds | None:
        """Returns those of the index that compares, None while none can."""
        if self.indexing.words_alone:
            return ANY
        return CAUTIOUS if self.indexing.state == "ready" else None

    async def decide(self, scope: Scope, memory: Memory) -> Decision:
        """Returns what to do with ``memory``: it is written as it is while no index can compare."""
        near = await self.neighbours(StoredMemory(scope, "", memory))
        return await asyncio.to_thread(decide, memory, near or (), self.thresholds or ANY)

    async def neighbours(self, stored: StoredMemory) -> list[tuple[StoredMemory, float]] | None:
        """Returns what may say the same as a memory in its own scope, with similarities, the most
        similar first; None while no index can compare."""
        ask = self._by_words if self.indexing.words_alone else self._by_meaning
        near = None if self.thresholds is None else await self._asked(ask, stored)
        if near is None:
            return None
        alike = (pair for pair in near if _vouched(pair[0].memory) == _vouched(stored.memory))
        return sorted(alike, key=lambda pair: -pair[1])[:NEAREST]

    async def sharing_words(
        self, stored: StoredMemory, *, latest: bool = False
    ) -> list[StoredMemory]:
        """Returns what of a memory's own scope shares the most words with it, whoever said it;
        roughly so while the word index cannot answer, as in a program that has just begun.
        ``latest``: also what its speaker said in the last days, whatever its words."""
        seen = readers(stored.scope, stored.memory)
        near = await self._asked(self._by_words, stored)
        if near is None:
            others = [*self._catalogue.visible(seen)]
            found = await asyncio.to_thread(_most_alike, stored, others)
        else:
            found = [one for one, _ in near[:NEAREST]]
        if latest:
            day = stored.memory.created_at.date()
            last = self._catalogue.of_days(day - _JUST_SAID, day, seen, None)
            own = (one for one in last if same_speaker(one.memory, stored.memory))
            found += [one for one in islice(own, NEAREST) if one not in (stored, *found)]
        return found

    async def _asked(
        self, ask: Callable[[StoredMemory], Awaitable[dict[Key, float]]], stored: StoredMemory
    ) -> list[tuple[StoredMemory, float]] | None:
        """Returns other entries of the memory's own place; None for no answer in time."""
        try:
            async with asyncio.timeout(self._seconds):
                near = await ask(stored)
        except (TimeoutError, IndexUnavailable, EmbeddingFailed):
            return None
        place, own = place_name(stored), key_of(stored)
        there = (key for key in near if key.scope == place and key != own)
        return [(one, near[key]) for key in there if (one := self._catalogue.at(key))]

    async def _by_words(self, draft: StoredMemory) -> dict[Key, float]:
        """Returns candidates with the share of the draft's words that each has."""
        text, seen = embedded_text(draft.memory), readers(draft.scope, draft.memory)
        answer = await self._words.search(WordQuery(text, text), seen, BY_WORDS)
        return {match.key: match.coverage for match in answer.found}

    async def _by_meaning(self, draft: StoredMemory) -> dict[Key, float]:
        """Returns candidates with their similarities."""
        (mine,) = await self.indexing.vectors([draft])
        answer = await self.indexing.nearest(mine, readers(draft.scope, draft.memory), _ASKED)
        # What answers questions is compared without them: its vector in the index has them in it.
        return {
            one.key: float(mine @ np.frombuffer(one.plain, "<f2")) if one.plain else one.similarity
            for one in answer.found
        }


def _most_alike(stored: StoredMemory, others: list[StoredMemory]) -> list[StoredMemory]:
    place = place_name(stored)
    there = [one for one in cooperative(others) if place_name(one) == place and one != stored]
    texts = [fold(embedded_text(one.memory)) for one in cooperative(there)]
    return [there[number] for number in shortlist(embedded_text(stored.memory), texts, NEAREST)]


def _vouched(memory: Memory) -> tuple[bool, bool, bool]:
    """Only those that are vouched for alike are compared: a merge must not transfer trust."""
    return memory.provenance.trusted, memory.quoted, memory.model_worded
