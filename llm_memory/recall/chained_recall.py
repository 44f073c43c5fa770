"""Recall in two hops: first whom or what the question names, then what was asked of that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from typing import Protocol

from ..catalogue.catalogue import key_of
from ..catalogue.rules.passage_text import embedded_passage
from ..errors import IndexUnavailable
from ..index.lexical_port import LexicalQuery
from ..index.passages import Passages
from ..models.conversation import Actor
from ..models.data_models import StoredMemory, Topic
from ..models.key import Key
from ..models.passages import Passage, place_name
from ..models.recall import Considered, DropReason, Hit, Recall, Trace
from ..models.scope import ScopeFilter
from ..models.vault_layout import topic_of
from ..text.normalising import estimate_tokens
from ..text.overlap import shortlist
from .arms import Arms
from .parsed_question import readable
from .rules.chaining import NextQuestion, next_questions, speaks_of
from .rules.ranking import TRACED, Candidate, as_hit

ENTITIES = 8
"""Of what stands in the entities files the best so many are looked at."""
QUESTIONS = 2
"""Asked in the second hop, at the same time."""
LEAST = 3
"""Below this limit there is no room for the way and what lies at its end."""
_LOOKED_AT = 5000

Line = Callable[[Hit], str]


class Ask(Protocol):
    """One hop: a recall of its own, with all that belongs to it."""

    async def __call__(
        self,
        query: str,
        scope_filter: ScopeFilter,
        *,
        limit: int,
        token_budget: int,
        asker: Actor | None,
        line: Line | None,
    ) -> Recall: ...


@dataclass(frozen=True, slots=True)
class _Hop:
    """A memory of whom the question means, what was found when it was asked on, and the part of
    that which speaks of them."""

    entity: StoredMemory
    found: Recall
    hits: tuple[Hit, ...]


class ChainedRecall:
    """Both hops see the same filter, and what they find shares one limit and one budget. Where the
    question names nothing that leads on, the answer is that of the first hop as it is."""

    def __init__(self, passages: Passages, arms: Arms, ask: Ask, preview_chars: int) -> None:
        self._passages = passages
        self._arms = arms
        self._ask = ask
        self._preview_chars = preview_chars

    async def recall(
        self,
        query: str,
        scope_filter: ScopeFilter,
        *,
        limit: int,
        token_budget: int,
        asker: Actor | None,
        line: Line | None,
        seconds: float | None,
    ) -> Recall:
        """``seconds``: after so long the first hop is the answer. None for as long as it takes."""
        loop = asyncio.get_running_loop()
        end = None if seconds is None else loop.time() + seconds

        async def ask(text: str) -> Recall:
            return await self._ask(
                text,
                scope_filter,
                limit=limit,
                token_budget=token_budget,
                asker=asker,
                line=line,
            )

        if limit < LEAST:
            return await ask(query)
        direct, entities = await asyncio.gather(ask(query), self._entities(query, scope_filter))
        texts = [entity.memory.judgment for entity in entities]
        following = await asyncio.to_thread(next_questions, readable(query), texts, QUESTIONS)
        if not following:
            return direct
        begun = loop.time()
        try:
            async with asyncio.timeout_at(end):
                found = await asyncio.gather(*(ask(question.text) for question in following))
        except TimeoutError:
            notes = (*direct.trace.notes, "second hop: timeout")
            return replace(direct, trace=replace(direct.trace, notes=notes))
        pairs = zip(following, found, strict=True)
        ways = [
            self._way(question, entities[question.source], recall) for question, recall in pairs
        ]
        joined = self._join(direct, ways, scope_filter, limit, token_budget, line)
        stages = direct.trace.milliseconds | {"second hop": (loop.time() - begun) * 1000}
        return replace(joined, trace=replace(joined.trace, milliseconds=stages))

    def _way(self, question: NextQuestion, entity: StoredMemory, recall: Recall) -> _Hop:
        hits = (hit for hit in recall.hits if _key(hit) != key_of(entity))
        return _Hop(entity, recall, tuple(hit for hit in hits if self._is_about(hit, question)))

    def _is_about(self, hit: Hit, question: NextQuestion) -> bool:
        passage = self._passages.get(_key(hit))
        return passage is not None and speaks_of(embedded_passage(passage), question.names)

    async def _entities(self, query: str, scope_filter: ScopeFilter) -> list[StoredMemory]:
        """What stands in the entities files and shares words with the question, the best first."""
        text = readable(query)
        if not text:
            return []
        try:
            found = await self._arms.words(LexicalQuery(text, text), scope_filter)
        except IndexUnavailable:
            return await self._scanned(text, scope_filter)
        best = sorted(found.scores, key=lambda key: -found.scores[key])
        passages = (self._passages.get(key) for key in best if scope_filter.admits(key.scope))
        return list(islice(_of_entities(passages), ENTITIES))

    async def _scanned(self, text: str, scope_filter: ScopeFilter) -> list[StoredMemory]:
        """The same without an index of words."""
        visible = islice(_of_entities(self._passages.visible(scope_filter)), _LOOKED_AT)
        entities = [entity for entity in visible if scope_filter.admits(place_name(entity))]
        folded = [self._passages.folded(entity) for entity in entities]
        places = await asyncio.to_thread(shortlist, text, folded, ENTITIES)
        return [entities[place] for place in places]

    def _join(
        self,
        direct: Recall,
        ways: Sequence[_Hop],
        scope_filter: ScopeFilter,
        limit: int,
        token_budget: int,
        line: Line | None,
    ) -> Recall:
        """The way first, then what both hops found, by turns, as far as there is room; in the
        answer what is of one kind stands together."""
        led = [way for way in ways if way.hits]
        if not led:
            return direct
        first = {_key(hit): hit for hit in direct.hits}
        steps = [first.get(key_of(way.entity)) or self._step(way.entity, line) for way in led]
        rest = _by_turns(*(way.hits for way in led), direct.hits)
        kept: dict[Key, Hit] = {}
        left = token_budget
        for hit in (*steps, *rest):
            key = _key(hit)
            # It was waited for: what was forgotten or moved meanwhile is not shown.
            lives = scope_filter.admits(key.scope) and self._passages.get(key) is not None
            if key not in kept and lives and len(kept) < limit and hit.tokens <= left:
                kept[key] = hit
                left -= hit.tokens
        through = [key_of(way.entity) for way in led if key_of(way.entity) in kept]
        hits = [kept[key] for key in through]
        hits += self._by_kind([hit for key, hit in kept.items() if key not in through])
        return Recall(tuple(hits), _joined_trace(direct.trace, led, kept, through))

    def _step(self, entity: StoredMemory, line: Line | None) -> Hit:
        hit = as_hit(Candidate(entity, 0.0), self._preview_chars)
        return hit if line is None else replace(hit, tokens=estimate_tokens(line(hit)))

    def _by_kind(self, hits: Sequence[Hit]) -> list[Hit]:
        """In the order in which kinds first occur; notes are a kind of their own."""
        groups: dict[str, list[Hit]] = {}
        for hit in hits:
            passage = self._passages.get(_key(hit))
            kind = passage.memory.kind.value if isinstance(passage, StoredMemory) else ""
            groups.setdefault(kind, []).append(hit)
        return [hit for group in groups.values() for hit in group]


def _key(hit: Hit) -> Key:
    return Key(hit.scope_name, hit.memory_id)


def _of_entities(passages: Iterable[Passage | None]) -> Iterator[StoredMemory]:
    for passage in passages:
        if isinstance(passage, StoredMemory) and topic_of(passage.path) is Topic.ENTITIES:
            yield passage


def _by_turns(*answers: Sequence[Hit]) -> Iterator[Hit]:
    return (hit for row in zip_longest(*answers) for hit in row if hit is not None)


def _joined_trace(
    direct: Trace, ways: Sequence[_Hop], kept: dict[Key, Hit], through: Sequence[Key]
) -> Trace:
    """One for both hops; what neither shows in the end has had no room."""
    traces = [*(way.found.trace for way in ways), direct]
    known: dict[Key, Considered] = {
        key: Considered(key.scope, key.memory_id, None, 0.0, None, 0.0, None) for key in through
    }
    for trace in traces:
        for one in trace.considered:
            key = Key(one.scope_name, one.memory_id)
            if key not in known or known[key].score == 0.0:
                known[key] = one
    dropped: dict[DropReason, int] = {}
    for trace in traces:
        for reason, count in trace.dropped.items():
            dropped[reason] = dropped.get(reason, 0) + count
    considered = []
    for key, one in known.items():
        if key in kept:
            considered.append(replace(one, dropped=None))
        else:
            considered.append(replace(one, dropped=one.dropped or DropReason.LIMIT))
    considered.sort(key=lambda one: one.dropped is not None)
    return replace(
        direct,
        candidates=sum(trace.candidates for trace in traces),
        considered=tuple(considered[:TRACED]),
        tokens=sum(hit.tokens for hit in kept.values()),
        dropped=dropped,
        notes=tuple(dict.fromkeys(note for trace in traces for note in trace.notes)),
        through=tuple(key.memory_id for key in through),
    )
