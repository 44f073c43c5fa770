"""What recall asks: the index of words, the embedder's index, and the passages themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from ..errors import EmbeddingFailed, IndexUnavailable
from ..index.index_queue import Lag
from ..index.indexing_service import IndexingService
from ..index.lexical_port import LexicalMatch, LexicalQuery
from ..index.lexical_records import lexical_record
from ..index.lexical_scan import LexicalScan
from ..index.lexical_service import LexicalService
from ..index.passages import Passages
from ..models.passages import Key, Passage, moment_of, place_name
from ..models.recall import Arm
from ..models.scope import ScopeFilter
from ..runtime.cooperative import cooperative
from ..text.overlap import shortlist
from .embedder_trust import EmbedderTrust
from .parsed_question import Ask
from .request import Course

NEIGHBOURS = 100
"""Of vectors: with fewer the last of them seem to say nothing, and those left out do."""
DEEP = 200
"""Of words more are asked for, which costs nothing: a date or a speaker lifts what is deep."""
SHORTLIST = 200
"""Passages that a scan compares: those that share the most with the query."""
SCAN_LIMIT = 5000
"""The newest that a scan looks at: of the reader's own scope, and of the others."""


@dataclass(frozen=True, slots=True)
class Found:
    """What an arm found: by ``words``; or ``similarities`` to the question's ``vector``.
    ``holding`` counts what holds every word of the subject, found or not."""

    words: dict[Key, LexicalMatch] = field(default_factory=dict)
    similarities: dict[Key, float] = field(default_factory=dict)
    vector: Sequence[float] = ()
    refused: int = 0
    holding: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What the arms found: ``words`` or ``vectors`` is None for one that was not asked, or could
    not answer."""

    words: Found | None = None
    vectors: Found | None = None
    behind: Collection[Key] = ()
    """Of what the words found, what the embedder's index may not have known when it was asked."""
    waiting: Sequence[Passage] = ()
    """All that it may not have known, where only the vectors answered."""
    weight: float = 0.0
    """Of the embedder in the order, 0 to 1."""

    @property
    def arm(self) -> Arm:
        """Which of them answered."""
        if self.words is None:
            return Arm.SCAN if self.vectors is None else Arm.DENSE
        return Arm.LEXICAL if self.vectors is None else Arm.HYBRID


@dataclass(eq=False)
class Arms:
    """Whatever they answer is checked against the filter here."""

    _passages: Passages
    _lexical: LexicalService
    _indexing: IndexingService
    _scanner: LexicalScan
    _trust: EmbedderTrust
    scope_check_drops: int = 0
    """How many records the indexes have named that their filter should have kept back."""

    async def ask(self, ask: Ask, course: Course) -> Answer:
        """Both at the same time; the embedder only where it is trusted, or nothing else answers."""
        vectors = self.trusts_vectors(ask)
        # Before the index is asked: what is written into it meanwhile would be in neither.
        with self.lag() as lag:
            by_words, near = await asyncio.gather(
                self.words(ask.words, ask.scope_filter, course.notes),
                self.vectors(ask, course.notes) if vectors else _nothing(),
            )
            if by_words is None and not vectors:
                near = await self.vectors(ask, course.notes)
        course.lap("index")
        for arm in (by_words, near):
            self.scope_check_drops += arm.refused if arm is not None else 0
        weight = ask.dense_weight if near is not None and near.similarities else 0.0
        if by_words is None:
            waiting = lag.living() if near is not None else ()
            return Answer(None, near, waiting=waiting, weight=weight)
        behind = frozenset(key for key in by_words.words if key in lag)
        return Answer(by_words, near, behind, weight=weight)

    def trusts_vectors(self, ask: Ask) -> bool:
        """True where the embedder is asked beside the words."""
        return ask.dense_weight > 0

    async def words(
        self, query: LexicalQuery, scope_filter: ScopeFilter, notes: list[str]
    ) -> Found | None:
        """None where their index cannot answer; ``notes`` says why."""
        try:
            answer = await self._lexical.search(query, scope_filter, DEEP)
        except IndexUnavailable as error:
            notes.append(f"lexical: {error}")
            return None
        kept = {m.key: m for m in answer.found if scope_filter.admits(m.key.scope)}
        refused = answer.dropped + len(answer.found) - len(kept)
        return Found(kept, refused=refused, holding=answer.holding)

    async def vectors(self, ask: Ask, notes: list[str]) -> Found | None:
        """The neighbours of a question apart from what it has in common with all others. None where
        the embedder or its index cannot answer; ``notes`` says why."""
        common, seen = self._trust.found.common(ask.language), ask.scope_filter
        try:
            vector, answer = await self._indexing.neighbours(ask.embedded, seen, NEIGHBOURS, common)
        except (IndexUnavailable, EmbeddingFailed) as error:
            notes.append(f"dense: {error}")
            return None
        kept = {n.key: n.similarity for n in answer.found if seen.admits(n.key.scope)}
        refused = answer.dropped + len(answer.found) - len(kept)
        return Found(similarities=kept, vector=vector.tolist(), refused=refused)

    def lag(self) -> AbstractContextManager[Lag]:
        """Follows what the embedder's index may not know while it is asked."""
        return self._indexing.lag()

    async def scan(
        self, query: LexicalQuery, scope_filter: ScopeFilter, passages: Iterable[Passage]
    ) -> list[tuple[Passage, float]]:
        """The visible passages that share the most words with the query, each with how much of it
        it speaks of, 0 to 1."""
        # All that is visible may be a hundred thousand: a copy is quick, looking through it is not.
        return await asyncio.to_thread(self._scanned, query, scope_filter, list(passages))

    def _scanned(
        self, query: LexicalQuery, scope_filter: ScopeFilter, passages: list[Passage]
    ) -> list[tuple[Passage, float]]:
        """Blocks."""
        chosen = _newest(scope_filter, passages)
        folded = [self._passages.folded(passage) for passage in cooperative(chosen)]
        best = [chosen[place] for place in shortlist(query.text, folded, SHORTLIST)]
        shares = self._scanner.coverages(query, [lexical_record(passage) for passage in best])
        return list(zip(best, shares, strict=True))

    def clear(self) -> None:
        """Let go of what a scan keeps."""
        self._scanner.clear()


def _newest(scope_filter: ScopeFilter, passages: Iterable[Passage]) -> list[Passage]:
    """The visible ones. A busy public scope must not push a family's out of sight."""
    own: list[Passage] = []
    others: list[Passage] = []
    for passage in passages:
        name = place_name(passage)
        if scope_filter.admits(name):
            (own if name == scope_filter.scopes[0].name else others).append(passage)
    for part in (own, others):
        if len(part) > SCAN_LIMIT:
            part.sort(key=moment_of)
    return own[-SCAN_LIMIT:] + others[-SCAN_LIMIT:]


async def _nothing() -> None:
    return None
