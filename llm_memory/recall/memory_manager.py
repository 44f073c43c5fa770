"""Recall: the candidates in one order, then the same fact once, the newer first, limit, budget."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from ..catalogue.catalogue import Catalogue
from ..index.indexing_service import IndexingService
from ..index.passages import Passages
from ..models.passages import place_name
from ..models.recall import Arm, DropReason, Recall, Trace
from ..models.scope import ScopeFilter
from ..models.settings import EngineSettings
from ..models.turns import ContextLine, Voice
from .arms import Arms
from .candidate_search import CandidateSearch, Ranked
from .embedder_trust import EmbedderTrust
from .explanations import Explanations
from .joined import joined
from .parsed_question import Ask, read_question, readable
from .request import Course, RecallRequest
from .reranking import Reranking
from .rules.closed_last import closed_last, records_instead
from .rules.newer import newer_first
from .rules.parts import parts_of
from .rules.ranking import Candidate, Sifted, choose, journals_last, sift
from .rules.same_fact import merge_same_facts, standing_first, stored_instead
from .rules.talk import stands_alone
from .rules.weights import RecallWeights
from .use_counts import UseCounts
from .whole_answers import WholeAnswers


class MemoryManager:
    """Takes an already resolved scope filter."""

    def __init__(
        self,
        catalogue: Catalogue,
        passages: Passages,
        arms: Arms,
        indexing: IndexingService,
        trust: EmbedderTrust,
        reranking: Reranking,
        uses: UseCounts,
        settings: EngineSettings,
        clock: Callable[[], datetime],
        weights: RecallWeights,
    ) -> None:
        self._passages = passages
        self._indexing = indexing
        self._trust = trust
        self._reranking = reranking
        self._settings = settings
        self._clock = clock
        self._newer = weights.newer
        self._whole = WholeAnswers(catalogue, passages, arms, uses)
        floor = weights.floor if settings.relevance_floor is None else settings.relevance_floor
        self._search = CandidateSearch(passages, arms, trust, uses, weights, floor)
        self._arms = arms
        self.uses = uses
        self.explanations = Explanations(passages, settings.preview_chars, clock)

    async def comprehensive_recall(self, request: RecallRequest) -> Recall:
        """The best visible passages for a query, within limit and budget. Never raises for a
        broken index or embedder: then another arm answers, and at last a scan.

        Where the query asks for several things, each is looked for beside the whole, with what was
        asked before it as context: a second clause asks as often for more of the same.
        """
        request = replace(request, query=readable(request.query))
        parts = parts_of(request.query)
        if len(parts) == 1:
            return await self._recall(request)
        before, now = list(request.context), self._clock()
        each = [self._recall(request)]
        for part in parts:
            each.append(self._recall(replace(request, query=part, context=tuple(before))))
            before.append(ContextLine(Voice.ASKER, part, now))
        return joined(await asyncio.gather(*each), request.limit, request.token_budget)

    async def _recall(self, request: RecallRequest) -> Recall:
        scope_filter = request.scope_filter
        if not request.query or request.limit < 1:
            return Recall(trace=Trace(scopes=scope_filter.names))
        course = Course()
        ask = self._read(request)
        course.lap("read")
        await self._passages.ahead(request.query, scope_filter)
        course.lap("ahead")
        ranked = await self.find(ask, course)
        sifted = await self._ordered(ask, ranked, course)
        choice = choose(
            sifted,
            limit=ranked.limit,
            token_budget=request.token_budget,
            preview_chars=self._settings.preview_chars,
            cost=request.cost,
            query=request.query,
            each_day=ranked.arm is Arm.DATES,
        )
        course.lap("choose")
        trace = Trace(
            scopes=scope_filter.names,
            arm=ranked.arm,
            candidates=len(ranked.candidates),
            considered=choice.considered,
            dense_weight=ranked.share if ranked.arm is Arm.HYBRID else 0.0,
            tokens=sum(hit.tokens for hit in choice.hits),
            reranker=course.reranker,
            dropped=dict(Counter(ranked.lost) + Counter(choice.dropped)),
            milliseconds=course.milliseconds,
            notes=tuple(course.notes),
            topics=ranked.topics,
            talk=ask.used,
            chance=ranked.chance,
            values=ranked.values,
            holding=max(ranked.holding - ranked.lost[DropReason.SAID], 0),
        )
        return Recall(choice.hits, trace)

    async def find(self, ask: Ask, course: Course) -> Ranked:
        """The candidates of a question: of days alone by their dates, else what the arms name, with
        what answers all of it."""
        whole = await self._whole.of(ask)
        if whole is not None and whole.limit is not None:
            course.lap("days")
            candidates = [Candidate(one, 0.0, place=at) for at, one in enumerate(whole.best)]
            return Ranked(candidates, Arm.DATES, whole.limit, whole=True)
        return await self._search.ranked(ask, course, whole, self._whole.said_on(ask))

    async def _ordered(self, ask: Ask, ranked: Ranked, course: Course) -> Sifted:
        """What is left to do once it is known what answers."""
        admits, query, stands = ask.scope_filter.admits, ask.request.query, ask.request.stands
        # What finds them holds the loop for some milliseconds, and so does what follows.
        await asyncio.sleep(0)
        living = self._living(ranked.candidates, ranked.lost)
        sifted = sift(one for one in living if admits(place_name(one.passage)))
        if not ranked.whole:
            best = await self._reranking.order(query, sifted.best, course)
            sifted = Sifted(self._living(best, ranked.lost), sifted.below)
        record = partial(self._passages.record, scope_filter=ask.scope_filter)
        told = stored_instead(records_instead(sifted, record), self._passages.copied)
        ranked.lost[DropReason.SAID] = len(sifted.best) - len(told.best)
        sifted = merge_same_facts(closed_last(told, self._passages.get))
        if ranked.arm is Arm.DATES:
            return sifted
        if not ask.times:
            sifted = journals_last(sifted, shown=ask.asks or not ask.in_talk)
        if not _names_past_date(ask):
            sifted = newer_first(sifted, self._newer, self._passages.is_unread, stands)
        return standing_first(sifted, stands)

    def _living(
        self, candidates: Sequence[Candidate], lost: dict[DropReason, int]
    ) -> list[Candidate]:
        """They were waited for: what was forgotten or moved meanwhile is not shown."""
        living = [
            one if passage is one.passage else replace(one, passage=passage)
            for one in candidates
            if (passage := self._passages.get(one.key))
        ]
        if gone := len(candidates) - len(living):
            lost[DropReason.GONE] = lost.get(DropReason.GONE, 0) + gone
        return living

    @property
    def scope_check_drops(self) -> int:
        """How many records the indexes have named that their filter should have kept back."""
        return self._arms.scope_check_drops

    async def announce(self, query: str, scope_filter: ScopeFilter) -> None:
        """A question comes in a moment: have it embedded, unless no embedder will be asked it, or
        one together with what was said before. Never raises for a broken index or embedder."""
        for part in dict.fromkeys((readable(query), *parts_of(readable(query)))):
            ask = self._read(RecallRequest(part, scope_filter, 1, 0))
            alone = bool(part) and stands_alone(part, ask.subject)
            if alone and ask.dense_weight > 0 and not self._whole.is_of_days(ask):
                await self._indexing.announce(ask.embedded)

    def _read(self, request: RecallRequest) -> Ask:
        links = self._settings.identity_links
        return read_question(request, self._clock(), self._trust.found.weight, links)

    def clear(self) -> None:
        """Let go of what is kept."""
        self._arms.clear()
        self._reranking.clear()
        self.explanations.clear()


def _names_past_date(ask: Ask) -> bool:
    """Whether the question is about what was so on a date: 昨天, 9月份; a bare weekday is as often
    that of a plan."""
    return any(
        not span.vague
        and span.end < ask.now.date()
        and (span.relative or any(map(str.isdigit, span.words)))
        for span in ask.times
    )
