"""Recall: ask the arms, join what they found, and choose."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ..catalogue.catalogue import entry_key, key_of
from ..index.indexing_service import IndexingService
from ..index.passages import Passages
from ..models.conversation import Actor
from ..models.data_models import StoredMemory
from ..models.key import Key
from ..models.passages import Passage, place_name
from ..models.recall import Arm, DropReason, Hit, Recall, Trace
from ..models.scope import ScopeFilter
from ..models.settings import EngineSettings
from ..models.talk import ContextLine
from ..models.turns import Feedback
from .arms import Arms
from .candidate_search import CandidateSearch, Stopwatch
from .day_recall import DayRecall
from .embedder_trust import EmbedderTrust
from .explanations import Explanations
from .parsed_question import Ask, read_question, readable
from .reranking import Reranking
from .rules.closed_last import closed_last
from .rules.day_digest import choose_days
from .rules.newest_first import newest_first
from .rules.questions.change import what_is_wanted
from .rules.ranking import Sifted, choose, journals_last, sift
from .rules.same_fact import merge_same_facts
from .rules.talk import stands_alone
from .rules.weights import RecallWeights
from .use_counts import UseCounts
from .whole_recall import WholeRecall


@dataclass(frozen=True, slots=True)
class Served:
    """What came of feedback: the ids that were ``counted``, how many counted for nothing."""

    counted: tuple[str, ...]
    dropped: int


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
        self._uses = uses
        self._settings = settings
        self._clock = clock
        self._search = CandidateSearch(
            passages, arms, trust, uses, weights, settings.relevance_floor
        )
        self._whole = WholeRecall(passages, arms, self._search.factor)
        self.explanations = Explanations(passages, settings.preview_chars, clock)

    async def comprehensive_recall(
        self,
        query: str,
        scope_filter: ScopeFilter,
        *,
        limit: int,
        token_budget: int,
        asker: Actor | None = None,
        line: Callable[[Hit], str] | None = None,
        only: Collection[Arm] | None = None,
        days: int = 0,
        context: Sequence[ContextLine] = (),
        in_talk: bool = False,
    ) -> Recall:
        """The best visible passages for a query, within limit and budget. Never raises for a
        broken index or embedder: then another arm answers, and at last a scan.

        Args:
            context: What was said before the query in the view that the filter is of.
            in_talk: The query is a person's message, not a search: it may ask for nothing.
            days: A question about days alone may be answered by one memory for each of so many,
                whatever the limit is.
            asker: Who asks: 我 is that person.
            line: What will be injected of a hit, for the budget.
            only: Ask these arms alone, LEXICAL or DENSE, and no reranker: for comparisons.
        """
        query = readable(query)
        if not query or limit < 1:
            return Recall(trace=Trace(scopes=scope_filter.names))
        stages = Stopwatch()
        notes: list[str] = []
        links = self._settings.identity_links
        ask = read_question(
            query, scope_filter, asker, self._clock(), self._trust.weight, links, context, in_talk
        )
        stages.lap("read")
        await self._passages.ahead(query, scope_filter)
        stages.lap("ahead")
        asked = self._whole.asked(ask) if only is None else None
        known = {} if asked is None else await self._whole.found(ask, asked, asker)
        by_date = only is None and not known and self._days.answers(ask)
        lost: dict[DropReason, int] = {}
        share = 0.0
        chance: float | None = None
        values: Mapping[str, float] = {}
        if by_date:
            arm, (candidates, limit) = Arm.DATES, await self._days.candidates(ask, limit, days)
            stages.lap("days")
        else:
            answer = await self._search.ask(ask, only, notes, stages)
            arm, share = answer.arm, answer.share
            of_days = self._days.said_on(ask) if only is None else ()
            ranked = await self._search.candidates(ask, answer, stages, of_days)
            candidates, lost = ranked.candidates, ranked.lost
            chance, values = ranked.chance, ranked.values
            if asked is not None:
                # They were waited for: what was forgotten or moved meanwhile is not shown.
                lives = {
                    one: order
                    for one, order in known.items()
                    if self._passages.get(key_of(one)) is one
                }
                candidates = self._whole.joined(asked, candidates, lives)
        sifted = sift(c for c in candidates if scope_filter.admits(place_name(c.passage)))
        reranker = ""
        # Where all of a topic is asked for, or all of a day, no text answers better than another.
        if only is None and not by_date and not known:
            sifted, reranker = await self._rerank(query, sifted, lost, notes, stages)
        sifted = merge_same_facts(closed_last(sifted, self._living))
        if not by_date:
            if not ask.times:
                sifted = journals_last(sifted, shown=ask.asks or not in_talk)
            if not _names_past_date(ask):
                sifted = newest_first(
                    sifted, what_is_wanted(query), query, self._passages.is_unread
                )
        if by_date:
            choice = choose_days(
                sifted,
                limit=limit,
                token_budget=token_budget,
                preview_chars=self._settings.preview_chars,
                line=line,
            )
        else:
            choice = choose(
                sifted,
                limit=limit,
                token_budget=token_budget,
                preview_chars=self._settings.preview_chars,
                line=line,
                query=query,
            )
        stages.lap("choose")
        trace = Trace(
            scopes=scope_filter.names,
            arm=arm,
            candidates=len(candidates),
            considered=choice.considered,
            dense_weight=share if arm is Arm.HYBRID else 0.0,
            tokens=sum(hit.tokens for hit in choice.hits),
            reranker=reranker,
            dropped=lost | choice.dropped,
            milliseconds=stages.milliseconds,
            notes=tuple(notes),
            topics=(asked.topic.value,) if known and asked and asked.topic else (),
            talk=ask.used,
            chance=chance,
            values=values,
        )
        return Recall(choice.hits, trace)

    @property
    def scope_check_drops(self) -> int:
        """How many records the indexes have named that their filter should have kept back."""
        return self._search.scope_check_drops

    async def announce(self, query: str, scope_filter: ScopeFilter) -> None:
        """A question comes in a moment: have it embedded, unless no embedder will be asked it, or
        one together with what was said before. Never raises for a broken index or embedder."""
        if not (query := readable(query)):
            return
        ask = read_question(query, scope_filter, None, self._clock(), self._trust.weight, {})
        alone = stands_alone(query, ask.subject)
        if ask.dense_weight > 0 and alone and not self._days.answers(ask):
            await self._indexing.announce(ask.embedded)

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

    def show(self, hits: Iterable[Hit]) -> None:
        """The asker is shown these: an access of each memory."""
        self._uses.show(self._passages.get(Key(hit.scope_name, hit.memory_id)) for hit in hits)

    async def feedback(
        self, feedback: Feedback, scope_filter: ScopeFilter, *, recalled: Collection[str]
    ) -> Served:
        """Count what helped, and what was shown and did not.

        What the filter admits has served once more. How an entry is weighed one day is changed in
        the reader's own scope alone, and only what was ``recalled`` can have been in the way.
        Raises StateUnavailable.
        """
        own = scope_filter.scopes[0].name
        useful = [self._admitted(one, scope_filter) for one in feedback.useful_ids]
        useless = [
            self._admitted(one, scope_filter) if one in recalled else None
            for one in feedback.useless_ids
        ]
        helped = list(dict.fromkeys(key for key in useful if key is not None))
        hindered = {key for key in useless if key is not None and key.scope == own}
        await self._uses.count(helped)
        await self._uses.weigh(
            [key for key in helped if key.scope == own], sorted(hindered.difference(helped))
        )
        dropped = useful.count(None) + sum(key is None or key.scope != own for key in useless)
        return Served(tuple(key.memory_id for key in helped), dropped)

    def _admitted(self, memory_id: str, scope_filter: ScopeFilter) -> Key | None:
        """The entry of a memory that the filter admits, the reader's own scope first. A note is
        none."""
        found = (self._passages.get(Key(name, memory_id)) for name in scope_filter.names)
        return next((entry_key(one) for one in found if isinstance(one, StoredMemory)), None)

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
