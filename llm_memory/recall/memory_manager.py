"""Recall: ask the arms, join what they found, and choose."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from ..catalogue.catalogue import key_of
from ..index.indexing_service import IndexingService
from ..index.passages import Passages
from ..models.key import Key
from ..models.passages import Passage, place_name
from ..models.recall import Arm, DropReason, Recall, Trace
from ..models.scope import ScopeFilter
from ..models.settings import EngineSettings
from ..models.talk import ContextLine, Voice
from .arms import Arms
from .candidate_search import CandidateSearch, Ranked, Stopwatch
from .day_recall import DayRecall
from .embedder_trust import EmbedderTrust
from .explanations import Explanations
from .joined import joined
from .parsed_question import Ask, read_question, readable
from .request import RecallRequest
from .reranking import Reranking
from .rules.closed_last import closed_last
from .rules.day_digest import choose_days
from .rules.newer import newer_first
from .rules.parts import parts_of
from .rules.ranking import Sifted, choose, journals_last, sift
from .rules.salience import in_time
from .rules.same_fact import merge_same_facts
from .rules.talk import stands_alone
from .rules.weights import RecallWeights
from .use_counts import UseCounts
from .usefulness import Usefulness
from .whole_recall import WholeRecall


@dataclass(frozen=True, slots=True)
class Found:
    """What a question may be answered with.

    Attributes:
        limit: How many of them are the answer.
        share: The embedder's part in the order.
        whole: All of a topic, a person or a day is asked for: no text answers better than another.
    """

    ranked: Ranked
    arm: Arm
    limit: int
    share: float = 0.0
    topics: tuple[str, ...] = ()
    whole: bool = False


class MemoryManager:
    """Takes an already resolved scope filter."""

    def __init__(
        self,
        passages: Passages,
        arms: Arms,
        indexing: IndexingService,
        trust: EmbedderTrust,
        reranking: Reranking,
        uses: UseCounts,
        days: DayRecall,
        settings: EngineSettings,
        clock: Callable[[], datetime],
        weights: RecallWeights,
    ) -> None:
        self._days = days
        self._passages = passages
        self._arms = arms
        self._indexing = indexing
        self._trust = trust
        self._reranking = reranking
        self._settings = settings
        self._clock = clock
        self._newer = weights.newer
        self._search = CandidateSearch(
            passages, arms, trust, uses, weights, settings.relevance_floor
        )
        self._whole = WholeRecall(passages, arms, self._search.factor)
        self.usefulness = Usefulness(passages, uses)
        self.explanations = Explanations(passages, settings.preview_chars, clock)

    async def comprehensive_recall(self, request: RecallRequest) -> Recall:
        """The best visible passages for a query, within limit and budget. Never raises for a
        broken index or embedder: then another arm answers, and at last a scan.

        Where the query asks for several things, each is looked for with its share of the budget,
        and what was asked before it as context.
        """
        request = replace(request, query=readable(request.query))
        parts = parts_of(request.query)
        if len(parts) == 1:
            return await self._recall(request)
        before, now = list(request.context), self._clock()
        each = []
        for part in parts:
            share = request.token_budget // len(parts)
            own = replace(request, query=part, token_budget=share, context=tuple(before))
            each.append(self._recall(own))
            before.append(ContextLine(Voice.ASKER, part, now))
        return joined(await asyncio.gather(*each), request.limit)

    async def _recall(self, request: RecallRequest) -> Recall:
        query, scope_filter = request.query, request.scope_filter
        if not query or request.limit < 1:
            return Recall(trace=Trace(scopes=scope_filter.names))
        stages = Stopwatch()
        notes: list[str] = []
        ask = self._read(request)
        stages.lap("read")
        await self._passages.ahead(query, scope_filter)
        stages.lap("ahead")
        found = self._narrowed(await self.find(ask, request, notes, stages), ask, request)
        candidates, lost = found.ranked.candidates, found.ranked.lost
        by_date = found.arm is Arm.DATES
        sifted = sift(c for c in candidates if scope_filter.admits(place_name(c.passage)))
        reranker = ""
        if not found.whole:
            sifted, reranker = await self._rerank(query, sifted, lost, notes, stages)
        sifted = merge_same_facts(closed_last(sifted, self._living))
        if not by_date:
            if not ask.times:
                sifted = journals_last(sifted, shown=ask.asks or not request.in_talk)
            if not _names_past_date(ask):
                sifted = newer_first(sifted, self._newer, query, self._passages.is_unread)
        if by_date:
            choice = choose_days(
                sifted,
                limit=found.limit,
                token_budget=request.token_budget,
                preview_chars=self._settings.preview_chars,
                line=request.line,
            )
        else:
            choice = choose(
                sifted,
                limit=found.limit,
                token_budget=request.token_budget,
                preview_chars=self._settings.preview_chars,
                line=request.line,
                query=query,
            )
        stages.lap("choose")
        trace = Trace(
            scopes=scope_filter.names,
            arm=found.arm,
            candidates=len(candidates),
            considered=choice.considered,
            dense_weight=found.share if found.arm is Arm.HYBRID else 0.0,
            tokens=sum(hit.tokens for hit in choice.hits),
            reranker=reranker,
            dropped=lost | choice.dropped,
            milliseconds=stages.milliseconds,
            notes=tuple(notes),
            topics=found.topics,
            talk=ask.used,
            chance=found.ranked.chance,
            values=found.ranked.values,
        )
        return Recall(choice.hits, trace)

    @property
    def scope_check_drops(self) -> int:
        """How many records the indexes have named that their filter should have kept back."""
        return self._search.scope_check_drops

    async def announce(self, query: str, scope_filter: ScopeFilter) -> None:
        """A question comes in a moment: have it embedded, unless no embedder will be asked it, or
        one together with what was said before. Never raises for a broken index or embedder."""
        for part in parts_of(readable(query)):
            ask = self._read(RecallRequest(part, scope_filter, 1, 0))
            alone = bool(part) and stands_alone(part, ask.subject)
            if alone and ask.dense_weight > 0 and not self._days.answers(ask):
                await self._indexing.announce(ask.embedded)

    async def find(
        self, ask: Ask, request: RecallRequest, notes: list[str], stages: Stopwatch
    ) -> Found:
        """The candidates of a question: of days alone by their dates, else what the arms name, with
        the topics and the person that are asked about."""
        asked = self._whole.asked(ask)
        known = {} if asked is None else await self._whole.found(ask, asked, request.asker)
        if not known and self._days.answers(ask):
            candidates, limit = await self._days.candidates(ask, request.limit, request.days)
            stages.lap("days")
            return Found(Ranked(candidates), Arm.DATES, limit, whole=True)
        of_days = self._days.said_on(ask)
        found = await self.searched(ask, request, notes, stages, of_days)
        if asked is None:
            return found
        # They were waited for: what was forgotten or moved meanwhile is not shown.
        lives = {
            one: order for one, order in known.items() if self._passages.get(key_of(one)) is one
        }
        ranked = found.ranked
        candidates = self._whole.joined(asked, ranked.candidates, lives)
        return replace(
            found,
            ranked=replace(ranked, candidates=candidates),
            topics=(asked.topic.value,) if known and asked.topic else (),
            whole=bool(known),
        )

    def _narrowed(self, found: Found, ask: Ask, request: RecallRequest) -> Found:
        """What is of the topic and of the days that were asked for beside the query. Behind what
        answers it comes the rest of the topic."""
        candidates = found.ranked.candidates
        if request.topic is not None:
            candidates = self._whole.of_topic(ask, request.topic, candidates)
        if request.on:
            zone = ask.now.tzinfo
            candidates = [one for one in candidates if in_time(one.passage, ask.times, zone)]
        return replace(found, ranked=replace(found.ranked, candidates=candidates))

    async def searched(
        self,
        ask: Ask,
        request: RecallRequest,
        notes: list[str],
        stages: Stopwatch,
        of_days: Iterable[Passage] = (),
    ) -> Found:
        """What the arms name, and ``of_days``."""
        answer = await self._search.ask(ask, notes, stages)
        ranked = await self._search.candidates(ask, answer, stages, of_days)
        return Found(ranked, answer.arm, request.limit, answer.share)

    def _read(self, request: RecallRequest) -> Ask:
        links = self._settings.identity_links
        return read_question(request, self._clock(), self._trust.weight, links)

    def _living(self, place: str, memory_id: str) -> Passage | None:
        return self._passages.get(Key(place, memory_id))

    async def _rerank(
        self,
        query: str,
        sifted: Sifted,
        lost: dict[DropReason, int],
        notes: list[str],
        stages: Stopwatch,
    ) -> tuple[Sifted, str]:
        """The relevant ones in the reranker's order, and its name if it gave one."""
        answer = await self._reranking.order(query, sifted.best, spent=stages.seconds)
        if not answer.label and not answer.note:
            return sifted, ""
        notes += [answer.note] if answer.note else []
        # It was waited for: what was forgotten or moved meanwhile is not shown.
        best = [
            replace(candidate, passage=passage)
            for candidate in answer.best
            if (passage := self._passages.get(key_of(candidate.passage)))
        ]
        if gone := len(answer.best) - len(best):
            lost[DropReason.GONE] = lost.get(DropReason.GONE, 0) + gone
        stages.lap("rerank")
        return Sifted(best, sifted.below), answer.label

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
