"""Finds entries of the scope being written to that say the same in other words."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Final

from ..catalogue.catalogue import Catalogue, key_of
from ..errors import EmbeddingFailed, IndexUnavailable
from ..index.indexing_service import IndexingService
from ..index.lexical_port import LexicalQuery
from ..index.lexical_service import LexicalService
from ..index.rules.deduplication import ANY, Append, Decision, MergeThresholds, decide, same_speaker
from ..models.consent import readers
from ..models.data_models import Memory, StoredMemory
from ..models.passages import Key, place_name
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
_NO_ANSWER: Final = (TimeoutError, IndexUnavailable, EmbeddingFailed)


@dataclass(eq=False)
class NearDuplicates:
    """Asks the vector index or, without one, the word index. It never reads other scopes than the
    one being written to, not even public, and compares only memories with the same readers.
    ``_seconds``: after this time a memory is written without a comparison."""

    _catalogue: Catalogue
    _indexing: IndexingService
    _words: LexicalService
    _seconds: float

    async def decide(self, scope: Scope, memory: Memory) -> Decision:
        """Returns what to do with ``memory``: it is written as it is while no index can compare."""
        thresholds = self.thresholds
        near = await self.neighbours(StoredMemory(scope, "", memory))
        if near is None or thresholds is None:
            return Append()
        return await asyncio.to_thread(decide, memory, near, thresholds)

    async def neighbours(self, stored: StoredMemory) -> list[tuple[StoredMemory, float]] | None:
        """Returns what may say the same as a memory in its own scope, with similarities, the most
        similar first; None while no index can compare."""
        if self.thresholds is None:
            return None
        ask = self._by_words if self._indexing.words_alone else self._by_meaning
        try:
            async with asyncio.timeout(self._seconds):
                near = await ask(stored)
        except _NO_ANSWER:
            return None
        found = [(one, near[key]) for key in near if (one := self._there(key, stored))]
        alike = [pair for pair in found if _vouched(pair[0].memory) == _vouched(stored.memory)]
        return sorted(alike, key=lambda pair: -pair[1])[:NEAREST]

    async def sharing_words(
        self, stored: StoredMemory, *, latest: bool = False
    ) -> list[StoredMemory]:
        """Returns what of a memory's own scope shares the most words with it, whoever said it;
        roughly so while the word index cannot answer, as in a program that has just begun.
        ``latest``: also what its speaker said in the last days, whatever its words."""
        seen = readers(stored.scope, stored.memory)
        try:
            async with asyncio.timeout(self._seconds):
                near = await self._by_words(stored)
            found = [one for key in near if (one := self._there(key, stored))][:NEAREST]
        except _NO_ANSWER:
            others = [*self._catalogue.visible(seen)]
            found = await asyncio.to_thread(_most_alike, stored, others)
        if latest:
            day = stored.memory.created_at.date()
            last = self._catalogue.of_days(day - _JUST_SAID, day, seen, None)
            own = (one for one in last if same_speaker(one.memory, stored.memory))
            found += [one for one in islice(own, NEAREST) if one not in (stored, *found)]
        return found

    @property
    def thresholds(self) -> MergeThresholds | None:
        """Returns the embedder's thresholds, None while no index can compare."""
        return ANY if self._indexing.words_alone else self._indexing.merge_thresholds

    @property
    def space(self) -> str:
        """Returns the name of the vector space: with another embedder all memories may be compared
        anew."""
        return self._indexing.label

    def _there(self, key: Key, stored: StoredMemory) -> StoredMemory | None:
        """Returns another entry of the memory's own place."""
        other = key.scope == place_name(stored) and key != key_of(stored)
        return self._catalogue.at(key) if other else None

    async def _by_words(self, draft: StoredMemory) -> dict[Key, float]:
        """Returns candidates with the share of the draft's words that each has."""
        text, seen = embedded_text(draft.memory), readers(draft.scope, draft.memory)
        answer = await self._words.search(LexicalQuery(text, text), seen, BY_WORDS)
        return {match.key: match.coverage for match in answer.found}

    async def _by_meaning(self, draft: StoredMemory) -> dict[Key, float]:
        """Returns candidates with their similarities."""
        (mine,) = await self._indexing.vectors([draft])
        answer = await self._indexing.nearest(mine, readers(draft.scope, draft.memory), _ASKED)
        near: dict[Key, float] = {n.key: n.similarity for n in answer.found}
        # What answers questions is compared without them: its vector in the index has them in it.
        asking = [one for key in near if (one := self._catalogue.at(key)) and one.memory.asks]
        if asking:
            rows = await self._indexing.vectors(asking)
            near |= {key_of(one): float(mine @ row) for one, row in zip(asking, rows, strict=True)}
        return near


def _most_alike(stored: StoredMemory, others: list[StoredMemory]) -> list[StoredMemory]:
    place = place_name(stored)
    there = [one for one in cooperative(others) if place_name(one) == place and one != stored]
    texts = [fold(embedded_text(one.memory)) for one in cooperative(there)]
    return [there[number] for number in shortlist(embedded_text(stored.memory), texts, NEAREST)]


def _vouched(memory: Memory) -> tuple[bool, bool, bool]:
    """Only those that are vouched for alike are compared: a merge must not transfer trust."""
    return memory.provenance.trusted, memory.quoted, memory.model_worded
