"""Recall: read, find, order, tell once, choose."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain, zip_longest
from math import inf

from ..index.passages import Passages
from ..models.passages import Key, moment_of
from ..models.recall import Arm, DropReason, Recall, Trace
from ..models.scope import ScopeFilter
from ..models.settings import EngineSettings
from .explanations import Explanations
from .find import CandidateFinder, Found
from .question import Ask, RecallRequest, read
from .reranking import Reranking
from .rules.choosing import Candidate, choose, is_journal
from .rules.newer import newer_first
from .rules.tell_once import (
    closed_last,
    journals_last,
    merge_same_facts,
    records_instead,
    standing_first,
    stored_instead,
)
from .use_counts import UseCounts
from .weights import RecallWeights


@dataclass(eq=False)
class MemoryManager:
    """Takes an already resolved scope filter."""

    _passages: Passages
    _finder: CandidateFinder
    _reranking: Reranking
    uses: UseCounts
    _settings: EngineSettings
    _clock: Callable[[], datetime]
    _weights: RecallWeights

    def __post_init__(self) -> None:
        chars = self._settings.preview_chars
        self.explanations = Explanations(self._passages, chars, self._clock)

    async def comprehensive_recall(self, request: RecallRequest) -> Recall:
        """The best visible passages for a query, within limit and budget. Never raises for a
        broken index or embedder: then another arm answers, and at last a scan.

        Where the query asks for several things, each is looked for beside the whole.
        """
        began, seen = time.perf_counter(), request.scope_filter
        asked = read(request, self._clock(), self._settings.identity_links)
        if not asked or request.limit < 1:
            return Recall(trace=Trace(scopes=seen.names))
        await self._passages.ahead(asked[0].request.query, seen)
        found = joined(
            await asyncio.gather(*(self._ordered(ask, began) for ask in asked)), request.limit
        )
        trace = found.trace
        trace.candidates = len(found.candidates) + len(found.others)
        choice = choose(
            found.candidates,
            found.others,
            limit=found.limit,
            token_budget=request.token_budget,
            preview_chars=self._settings.preview_chars,
            cost=request.cost,
            query=asked[0].request.query,
            each_day=trace.arm is Arm.DATES,
        )
        trace.considered = choice.considered
        trace.tokens = sum(hit.tokens for hit in choice.hits)
        trace.dropped = +(trace.dropped + choice.dropped)
        trace.milliseconds = (time.perf_counter() - began) * 1000
        return Recall(choice.hits, trace)

    async def _ordered(self, ask: Ask, began: float) -> Found:
        """What may be shown of what was found, best first, each thing once, and the others."""
        found = await self._finder.find(ask)
        # What finds them holds the loop for some milliseconds, and so does what follows.
        await asyncio.sleep(0)
        stands, lost = ask.request.stands, found.trace.dropped
        ranked = sorted(self._living(found.candidates, lost), key=_order)
        best: Sequence[Candidate] = [one for one in ranked if one.relevance >= 0]
        below = [one for one in ranked if one.relevance < 0]
        if not found.whole:
            spent = time.perf_counter() - began
            order = self._reranking.order(ask.request.query, best, spent, found.trace.notes)
            best, found.trace.reranker = await order
            best = [*self._living(best, lost)]
        record = partial(self._passages.record, scope_filter=ask.request.scope_filter)
        told = stored_instead(records_instead(best, record), self._passages.copied)
        lost[DropReason.SAID] = len(best) - len(told)
        found.trace.holding = max(found.trace.holding - lost[DropReason.SAID], 0)
        known = {one.key: one for one in (*ranked, *told)}
        best = merge_same_facts(closed_last(told, known, self._passages.get))
        if found.trace.arm is not Arm.DATES:
            if not ask.times:
                journals = [one for one in best if is_journal(one.passage)]
                best = journals_last(best, shown=ask.asks or not ask.request.in_talk)
                below = [*journals, *below]
            below = _without(below, best)
            if not _names_past_date(ask):
                is_unread = self._passages.is_unread
                best = newer_first(best, below, self._weights.newer, is_unread, stands)
            best = standing_first(best, stands)
        found.candidates, found.others = [*best], _without(below, best)
        for one in found.others:
            one.dropped = DropReason.FLOOR
        return found

    def _living(
        self, candidates: Iterable[Candidate], lost: Counter[DropReason]
    ) -> Iterator[Candidate]:
        """They were waited for: what was forgotten or moved meanwhile is not shown."""
        for one in candidates:
            if (passage := self._passages.get(one.key)) is None:
                lost[DropReason.GONE] += 1
                continue
            one.passage = passage
            yield one

    @property
    def scope_check_drops(self) -> int:
        """How many records the indexes have named that their filter should have kept back."""
        return self._finder.scope_check_drops

    async def announce(self, query: str, scope_filter: ScopeFilter) -> None:
        """A question comes in a moment: have it embedded, unless no embedder will be asked it, or
        one together with what was said before. Never raises for a broken index or embedder."""
        request = RecallRequest(query, scope_filter, 1, 0)
        for ask in read(request, self._clock(), self._settings.identity_links):
            await self._finder.announce(ask)

    def clear(self) -> None:
        """Let go of what is kept."""
        self._finder.clear()
        self._reranking.clear()
        self.explanations.clear()


def joined(each: Sequence[Found], limit: int) -> Found:
    """What was found for each question of a message, as one: the best of each, then the second of
    each, once each, with the decision on the one that is answered best."""
    if len(each) == 1:
        return each[0]
    best, others = (
        _once(chain(*zip_longest(*some)))
        for some in ([one.candidates for one in each], [one.others for one in each])
    )
    trace = max((one.trace for one in each), key=lambda one: one.chance or 0.0)
    trace.dropped = sum((one.trace.dropped for one in each), Counter())
    trace.topics = tuple(dict.fromkeys(chain(*(one.trace.topics for one in each))))
    trace.notes = list(dict.fromkeys(chain(*(one.trace.notes for one in each))))
    trace.talk, trace.holding = each[0].trace.talk, 0  # holding is of the words of one question
    return Found(best, limit, trace, others=_without(others, best))


def _once(candidates: Iterable[Candidate | None]) -> list[Candidate]:
    found: dict[Key, Candidate] = {}
    for one in filter(None, candidates):
        found.setdefault(one.key, one)
    return [*found.values()]


def _without(candidates: Sequence[Candidate], others: Sequence[Candidate]) -> list[Candidate]:
    keys = {one.key for one in others}
    return [one for one in candidates if one.key not in keys]


def _order(one: Candidate) -> tuple[float, float, float]:
    place = inf if one.place is None else one.place
    return place, -one.score, -moment_of(one.passage).timestamp()


def _names_past_date(ask: Ask) -> bool:
    """Whether the question is about what was so on a date: 昨天, 9月份; a bare weekday is as often
    that of a plan."""
    return any(
        not span.vague
        and span.end < ask.now.date()
        and (span.relative or any(map(str.isdigit, span.words)))
        for span in ask.times
    )
