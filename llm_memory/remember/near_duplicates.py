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
_FRESH: Final = 10
"""The newest memories not yet in the index that are compared, too."""
_LOOKED_AT: Final = 200
"""Of what waits for the index the newest: all of an adoption may wait."""


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
        by_words = self._indexing.words_alone
        try:
            async with asyncio.timeout(self._seconds):
                near = await (self._sharing_words(stored) if by_words else self._nearest(stored))
        except (TimeoutError, IndexUnavailable, EmbeddingFailed):
            return None
        found = [(one, similarity) for key, similarity in near if (one := self._there(key, stored))]
        alike = [pair for pair in found if _is_comparable(stored.memory, pair[0].memory)]
        return sorted(alike, key=lambda pair: -pair[1])[:NEAREST]

    async def sharing_words(
        self, stored: StoredMemory, *, latest: bool = False
    ) -> list[StoredMemory]:
        """Returns what of a memory's own scope shares the most words with it, whoever said it;
        roughly so while the word index cannot answer, as in a program that has just begun.
        ``latest``: also what its speaker said in the last days, whatever its words."""
        seen = readers(stored.scope, stored.memory)
        found: list[StoredMemory] = []
        try:
            async with asyncio.timeout(self._seconds):
                near = await self._sharing_words(stored)
            found = [one for key, _ in near if (one := self._there(key, stored))][:NEAREST]
        except TimeoutError:
            pass
        except IndexUnavailable:
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

    async def _sharing_words(self, draft: StoredMemory) -> list[tuple[Key, float]]:
        """Returns candidates with the share of the draft's words that each has."""
        seen = readers(draft.scope, draft.memory)
        answer = await self._words.search(statement_query(draft.memory), seen, BY_WORDS)
        return [(match.key, match.coverage) for match in answer.found]

    async def _nearest(self, draft: StoredMemory) -> list[tuple[Key, float]]:
        """Returns candidates with their similarities."""
        # Before the index is asked: what is written into it meanwhile would be in neither.
        fresh = self._fresh(draft)
        (mine,) = await self._indexing.vectors([draft])
        answer = await self._indexing.nearest(mine, readers(draft.scope, draft.memory), _ASKED)
        near: dict[Key, float] = {n.key: n.similarity for n in answer.found}
        # What changed since it was indexed is compared as it is now, and what answers questions
        # without them: its vector in the index has them in it.
        asking = [one for key in near if (one := self._catalogue.at(key)) and one.memory.asks]
        again = {key_of(stored): stored for stored in (*asking, *fresh)}
        if again:
            rows = await self._indexing.vectors(list(again.values()))
            near |= {key: float(mine @ row) for key, row in zip(again, rows, strict=True)}
        return [*near.items()]

    def _fresh(self, draft: StoredMemory) -> list[StoredMemory]:
        waiting = [
            passage
            for passage in self._indexing.newest_pending(_LOOKED_AT)
            if isinstance(passage, StoredMemory)
            and self._there(key_of(passage), draft)
            and _is_comparable(draft.memory, passage.memory)
            and same_speaker(draft.memory, passage.memory)
        ]
        return waiting[-_FRESH:]


def statement_query(memory: Memory) -> LexicalQuery:
    """Returns the word-index query for statements of the same content."""
    text = embedded_text(memory)
    return LexicalQuery(text, text)


def _most_alike(stored: StoredMemory, others: list[StoredMemory]) -> list[StoredMemory]:
    place, own = place_name(stored), key_of(stored)
    there = [one for one in cooperative(others) if place_name(one) == place and key_of(one) != own]
    texts = [fold(embedded_text(one.memory)) for one in cooperative(there)]
    return [there[number] for number in shortlist(embedded_text(stored.memory), texts, NEAREST)]


def _is_comparable(one: Memory, other: Memory) -> bool:
    """True if both are vouched for alike: a merge must not transfer trust."""
    mine, yours = (
        (memory.provenance.trusted, memory.quoted, memory.model_worded) for memory in (one, other)
    )
    return mine == yours
