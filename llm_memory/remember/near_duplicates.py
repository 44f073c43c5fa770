"""What the scope that is written to says already, in other words."""

from __future__ import annotations

import asyncio

from ..catalogue.catalogue import Catalogue, key_of
from ..errors import EmbeddingFailed, IndexUnavailable
from ..index.indexing_service import IndexingService
from ..index.lexical_port import LexicalQuery
from ..index.lexical_service import LexicalService
from ..index.rules.deduplication import ANY, Append, Decision, MergeThresholds, decide, same_speaker
from ..models.consent import readers
from ..models.data_models import Memory, StoredMemory
from ..models.key import Key
from ..models.passages import place_name
from ..models.scope import Scope
from ..text.normalising import embedded_text

NEAREST = 10
_ASKED = 50
"""Neighbours that the index is asked for: among them are turns not read yet, which are none."""
BY_WORDS = 100
"""Of so many that share words, in the order of recall, those that share the most are compared."""
_FRESH = 10
"""Of what is not in the index yet the newest so many are compared, too."""


class NearDuplicates:
    """Asks the index of vectors, or, where there is none, that of words. It never looks beyond the
    scope that is written to, not even into public, and compares only memories that the same people
    may read.

    Args:
        seconds: After this long the memory is written without having been compared.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        indexing: IndexingService,
        words: LexicalService,
        *,
        seconds: float,
    ) -> None:
        self._catalogue = catalogue
        self._indexing = indexing
        self._words = words
        self._seconds = seconds

    async def decide(self, scope: Scope, memory: Memory) -> Decision:
        """What becomes of ``memory``. While nothing can be compared it is written as it is."""
        thresholds = self.thresholds
        if thresholds is None:
            return Append()
        try:
            async with asyncio.timeout(self._seconds):
                near = await self._near(scope, memory)
        except (TimeoutError, IndexUnavailable, EmbeddingFailed):
            return Append()
        return await asyncio.to_thread(decide, memory, near, thresholds)

    async def neighbours(self, stored: StoredMemory) -> list[tuple[StoredMemory, float]] | None:
        """What a living memory may be merged with, in its own scope, with similarities; None while
        nothing can be compared."""
        if self.thresholds is None:
            return None
        try:
            async with asyncio.timeout(self._seconds):
                near = await self._near(stored.scope, stored.memory)
        except (TimeoutError, IndexUnavailable, EmbeddingFailed):
            return None
        own = stored.memory.memory_id
        return [(other, similarity) for other, similarity in near if other.memory.memory_id != own]

    @property
    def thresholds(self) -> MergeThresholds | None:
        """The embedder's own, None while nothing can be compared."""
        return ANY if self._indexing.words_alone else self._indexing.merge_thresholds

    @property
    def space(self) -> str:
        """What comparisons go by: with another embedder everything may be compared anew."""
        return self._indexing.label

    async def _near(self, scope: Scope, memory: Memory) -> list[tuple[StoredMemory, float]]:
        draft = StoredMemory(scope, "", memory)
        by_words = self._indexing.words_alone
        near = await (self._sharing_words(draft) if by_words else self._nearest(draft))
        found = [
            (stored, similarity)
            for key, similarity in near.items()
            if key.scope == place_name(draft)
            and (stored := self._catalogue.at(key)) is not None
            and _is_comparable(memory, stored.memory)
        ]
        return sorted(found, key=lambda pair: -pair[1])[:NEAREST]

    async def _sharing_words(self, draft: StoredMemory) -> dict[Key, float]:
        """With how much of the draft each speaks of."""
        seen = readers(draft.scope, draft.memory)
        answer = await self._words.search(statement_query(draft.memory), seen, BY_WORDS)
        return {match.key: match.coverage for match in answer.found}

    async def _nearest(self, draft: StoredMemory) -> dict[Key, float]:
        """With their similarities."""
        fresh = self._fresh(draft)
        mine, *others = await self._indexing.vectors([draft, *fresh])
        answer = await self._indexing.nearest(mine, readers(draft.scope, draft.memory), _ASKED)
        near: dict[Key, float] = {n.key: n.similarity for n in answer.found}
        # What was changed since it was indexed counts as it is now.
        near |= {
            key_of(stored): float(mine @ vector)
            for stored, vector in zip(fresh, others, strict=True)
        }
        return near

    def _fresh(self, draft: StoredMemory) -> list[StoredMemory]:
        memory = draft.memory
        waiting = [
            passage
            for passage in self._indexing.pending
            if isinstance(passage, StoredMemory)
            and place_name(passage) == place_name(draft)
            and self._catalogue.at(key_of(passage)) is not None
            and _is_comparable(memory, passage.memory)
            and same_speaker(memory, passage.memory)
        ]
        return waiting[-_FRESH:]


def statement_query(memory: Memory) -> LexicalQuery:
    """What the index of words is asked for what says the same."""
    text = embedded_text(memory)
    return LexicalQuery(text, text)


def _is_comparable(one: Memory, other: Memory) -> bool:
    """Merged is only what is vouched for alike: no word lends another one its trust."""
    return _standing(one) == _standing(other)


def _standing(memory: Memory) -> tuple[bool, bool, bool]:
    return memory.provenance.trusted, memory.quoted, memory.model_worded
