"""Finds entries of the scope being written to that say the same in other words."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import islice

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

NEAREST = 10
_ASKED = 50
"""Neighbours requested from the index: some are unread turns, which are skipped."""
BY_WORDS = 100
"""Of so many recall hits, those that share the most words are compared."""
_JUST_SAID = timedelta(days=3)
_FRESH = 10
"""The newest memories not yet in the index that are compared, too."""
_LOOKED_AT = 200
"""Of what waits for the index the newest: all of an adoption may wait."""


class NearDuplicates:
    """Asks the vector index or, without one, the word index. It never reads other scopes than the
    one being written to, not even public, and compares only memories with the same readers.

    Args:
        seconds: After this time the memory is written without a comparison.
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
        """Returns what to do with ``memory``: it is written as it is while no index can compare."""
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
        """Returns merge candidates for a memory in its own scope, with similarities; None while no
        index can compare."""
        if self.thresholds is None:
            return None
        try:
            async with asyncio.timeout(self._seconds):
                near = await self._near(stored.scope, stored.memory)
        except (TimeoutError, IndexUnavailable, EmbeddingFailed):
            return None
        own = stored.memory.memory_id
        return [(other, similarity) for other, similarity in near if other.memory.memory_id != own]

    async def sharing_words(
        self, stored: StoredMemory, *, latest: bool = False
    ) -> list[StoredMemory]:
        """Returns what of a memory's own scope shares the most words with it, whoever said it;
        roughly so while the word index cannot answer, as in a program that has just begun.
        ``latest``: also what its speaker said in the last days, whatever its words."""
        found = await self._alike(stored)
        if latest:
            day, seen = stored.memory.created_at.date(), readers(stored.scope, stored.memory)
            last = self._catalogue.of_days(day - _JUST_SAID, day, seen, None)
            own = (one for one in last if same_speaker(one.memory, stored.memory))
            found += [one for one in islice(own, NEAREST) if one not in (stored, *found)]
        return found

    async def _alike(self, stored: StoredMemory) -> list[StoredMemory]:
        place, own = place_name(stored), key_of(stored)
        try:
            async with asyncio.timeout(self._seconds):
                near = await self._sharing_words(stored)
        except TimeoutError:
            return []
        except IndexUnavailable:
            others = self._catalogue.visible(readers(stored.scope, stored.memory))
            mine = [one for one in others if place_name(one) == place and key_of(one) != own]
            return await asyncio.to_thread(_most_alike, stored, mine)
        found = (self._catalogue.at(key) for key in near if key.scope == place)
        return [one for one in found if one is not None and key_of(one) != own][:NEAREST]

    @property
    def thresholds(self) -> MergeThresholds | None:
        """Returns the embedder's thresholds, None while no index can compare."""
        return ANY if self._indexing.words_alone else self._indexing.merge_thresholds

    @property
    def space(self) -> str:
        """Returns the name of the vector space: with another embedder all memories may be compared
        anew."""
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
        """Returns candidates with the share of the draft's words that each has."""
        seen = readers(draft.scope, draft.memory)
        answer = await self._words.search(statement_query(draft.memory), seen, BY_WORDS)
        return {match.key: match.coverage for match in answer.found}

    async def _nearest(self, draft: StoredMemory) -> dict[Key, float]:
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
        return near

    def _fresh(self, draft: StoredMemory) -> list[StoredMemory]:
        memory = draft.memory
        waiting = [
            passage
            for passage in self._indexing.newest_pending(_LOOKED_AT)
            if isinstance(passage, StoredMemory)
            and place_name(passage) == place_name(draft)
            and self._catalogue.at(key_of(passage)) is not None
            and _is_comparable(memory, passage.memory)
            and same_speaker(memory, passage.memory)
        ]
        return waiting[-_FRESH:]


def statement_query(memory: Memory) -> LexicalQuery:
    """Returns the word-index query for statements of the same content."""
    text = embedded_text(memory)
    return LexicalQuery(text, text)


def _most_alike(stored: StoredMemory, others: list[StoredMemory]) -> list[StoredMemory]:
    texts = [fold(embedded_text(one.memory)) for one in cooperative(others)]
    return [others[place] for place in shortlist(embedded_text(stored.memory), texts, NEAREST)]


def _is_comparable(one: Memory, other: Memory) -> bool:
    """True if both are vouched for alike: a merge must not transfer trust."""
    return _standing(one) == _standing(other)


def _standing(memory: Memory) -> tuple[bool, bool, bool]:
    return memory.provenance.trusted, memory.quoted, memory.model_worded
