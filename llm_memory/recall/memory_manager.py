"""Recall: ask the arms, join what they found, and choose."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice

from ..catalogue.catalogue import entry_key, key_of
from ..catalogue.rules.tasks import is_done, is_task
from ..catalogue.rules.timeline import repeats_entries
from ..errors import EmbeddingFailed, IndexUnavailable
from ..index.indexing_service import IndexingService
from ..index.lexical_port import LexicalQuery
from ..index.passages import Passages
from ..models.conversation import Actor
from ..models.data_models import StoredMemory, Topic
from ..models.key import Key
from ..models.passages import Passage, place_name
from ..models.recall import Arm, DropReason, Hit, Recall, Trace
from ..models.scope import ScopeFilter
from ..models.settings import EngineSettings
from ..models.talk import ContextLine
from ..models.turns import Feedback
from ..text.normalising import estimate_tokens
from ..text.overlap import fold
from .arms import Arms, Found
from .chained_recall import ChainedRecall
from .day_recall import DayRecall
from .embedder_trust import EmbedderTrust
from .explanations import Explanations
from .parsed_question import Ask, read_question, readable
from .reranking import Reranking
from .rules.closed_last import closed_last
from .rules.day_digest import choose_days
from .rules.evidence import MANY, Asked, evidence
from .rules.fusion import fuse, min_max_scaled
from .rules.journals_aside import journals_aside
from .rules.newest_first import newest_first
from .rules.questions.change import what_is_wanted
from .rules.questions.person import About, person_asked
from .rules.questions.topic import TopicQuestion, topic_questions
from .rules.ranking import Candidate, Sifted, beside_relevant, choose, sift
from .rules.relevance import Judge
from .rules.salience import in_time, salience, speaker_factor, time_factor
from .rules.same_fact import merge_same_facts
from .rules.talk import stands_alone
from .rules.topic_candidates import READ, with_topic
from .use_counts import UseCounts


class Stopwatch:
    """Milliseconds by stage of one recall."""

    def __init__(self) -> None:
        self._begun = self._since = time.perf_counter()
        self.milliseconds: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        """The time since the last lap went into this stage."""
        now = time.perf_counter()
        self.milliseconds[stage] = self.milliseconds.get(stage, 0.0) + (now - self._since) * 1000
        self._since = now

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.perf_counter() - self._begun


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
    """Of the vectors beside the words, 0 to 1."""

    @property
    def arm(self) -> Arm:
        if self.words is not None:
            return Arm.HYBRID if self.vectors is not None else Arm.LEXICAL
        return Arm.DENSE if self.vectors is not None else Arm.SCAN

    @property
    def share(self) -> float:
        """Of the vectors in the order of both."""
        return self.weight / (1 + self.weight)


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
        self._chained = ChainedRecall(
            passages, arms, self.comprehensive_recall, settings.preview_chars
        )
        self.scope_check_drops = 0
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
            in_talk: The query is a message somebody sent, not a search: it may ask for nothing.
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
        topics = topic_questions(query) if only is None else ()
        known = self._of_person(ask, asker, query) if only is None and not topics else {}
        by_date = only is None and not topics and not known and self._days.answers(ask)
        lost: dict[DropReason, int] = {}
        share = 0.0
        if by_date:
            arm, (candidates, limit) = Arm.DATES, await self._days.candidates(ask, limit, days)
            stages.lap("days")
        else:
            answer = await self._ask(ask, only, notes, stages)
            arm, share = answer.arm, answer.share
            candidates, lost = await self._search(ask, answer, stages)
            candidates = self._with_topics(ask, topics, candidates)
            if known:
                told = [one for one in known if isinstance(one, StoredMemory)]
                candidates = with_topic(candidates, told, narrowed=False, factor=known.__getitem__)
        sifted = sift(c for c in candidates if scope_filter.admits(place_name(c.passage)))
        reranker = ""
        # Where all of a topic is asked for, or all of a day, no text answers better than another.
        whole = bool(known) or not all(asked.narrowed for asked in topics)
        if only is None and not by_date and not whole:
            sifted, reranker = await self._rerank(query, sifted, lost, notes, stages)
        sifted = merge_same_facts(closed_last(sifted, self._living))
        if not by_date:
            sifted = journals_aside(sifted, query, names_days=bool(ask.times))
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
            topics=tuple(asked.topic.value for asked in topics),
            talk=ask.used,
        )
        return Recall(choice.hits, trace)

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

    async def chained_recall(
        self,
        query: str,
        scope_filter: ScopeFilter,
        *,
        limit: int,
        token_budget: int,
        asker: Actor | None = None,
        line: Callable[[Hit], str] | None = None,
        seconds: float | None = None,
    ) -> Recall:
        """Entities first, then kinds: see ``ChainedRecall``. Never raises, as the one above."""
        return await self._chained.recall(
            query,
            scope_filter,
            limit=limit,
            token_budget=token_budget,
            asker=asker,
            line=line,
            seconds=seconds,
        )

    async def _search(
        self, ask: Ask, answer: Answer, stages: Stopwatch
    ) -> tuple[list[Candidate], dict[DropReason, int]]:
        """What the indexes name, or a scan where they cannot answer."""
        if answer.arm is Arm.SCAN:
            everything = self._passages.visible(ask.scope_filter)
            candidates = await self._scan(ask, everything)
            lost: dict[DropReason, int] = {}
            stages.lap("scan")
        else:
            candidates, lost = await self._join(ask, answer, stages)
        # What a digest repeats answers by itself, and says more.
        return [c for c in candidates if not repeats_entries(c.passage)], lost

    async def _ask(
        self, ask: Ask, only: Collection[Arm] | None, notes: list[str], stages: Stopwatch
    ) -> Answer:
        """Both at the same time; the embedder only where it is trusted, or nothing else answers."""
        words = only is None or Arm.LEXICAL in only
        vectors = ask.dense_weight > 0 if only is None else Arm.DENSE in only
        # Before the index is asked: what is written into it meanwhile would be in neither.
        with self._arms.lag() as lag:
            by_words, near = await asyncio.gather(
                self._words(ask, notes) if words else _nothing(),
                self._vectors(ask, notes) if vectors else _nothing(),
            )
            if by_words is None and words and not vectors and only is None:
                near = await self._vectors(ask, notes)
        stages.lap("index")
        for arm in (by_words, near):
            self.scope_check_drops += arm.refused if arm is not None else 0
        if by_words is None:
            waiting = lag.living() if near is not None else ()
            return Answer(None, near, waiting=waiting)
        behind = frozenset(key for key in by_words.scores if key in lag)
        weight = ask.dense_weight if near is not None and near.similarities else 0.0
        return Answer(by_words, near, behind, weight=weight)

    async def _words(self, ask: Ask, notes: list[str]) -> Found | None:
        try:
            query = LexicalQuery(ask.text, ask.subject, ask.around, ask.used.carried)
            return await self._arms.words(query, ask.scope_filter)
        except IndexUnavailable as error:
            notes.append(f"lexical: {error}")
            return None

    async def _vectors(self, ask: Ask, notes: list[str]) -> Found | None:
        try:
            common = self._trust.common(ask.language)
            return await self._arms.vectors(ask.embedded, ask.scope_filter, common)
        except (IndexUnavailable, EmbeddingFailed) as error:
            notes.append(f"dense: {error}")
            return None

    async def _join(
        self, ask: Ask, answer: Answer, stages: Stopwatch
    ) -> tuple[list[Candidate], dict[DropReason, int]]:
        """The candidates of the arms, in one order, and how many the arms should not have named."""
        words, vectors = answer.words or Found(), answer.vectors or Found()
        scale = self._trust.scale(ask.language, vectors.vector)
        scores = fuse(
            words.scores,
            min_max_scaled(vectors.similarities, scale.deviation),
            weight=answer.weight if answer.words is not None else 1.0,
            behind=answer.behind,
        )
        if answer.words is not None and answer.vectors:
            # It may have failed between two questions: without that, then.
            with contextlib.suppress(IndexUnavailable):
                scores = await self._arms.in_sessions(scores)
        living = {key: passage for key in scores if (passage := self._passages.get(key))}
        coverages = {key: match.coverage for key, match in words.words.items()}
        odds = evidence(
            self._asked(ask),
            None if answer.words is None else coverages,
            vectors.similarities,
            scale=scale,
            weight=answer.weight,
            behind=answer.behind,
        )
        judge = self._judge(ask, living.values())
        candidates = [
            judge.candidate(
                passage,
                score=scores[key],
                log_odds=odds[key],
                match=_match(words, key),
                similarity=vectors.similarities.get(key),
                uses=self._uses.of_passage(passage),
            )
            for key, passage in living.items()
        ]
        stages.lap("join")
        if answer.words is None:  # what the embedder's index does not hold yet
            candidates = beside_relevant(candidates, await self._scan(ask, answer.waiting))
            stages.lap("scan")
        refused = words.refused + vectors.refused
        lost = {DropReason.SCOPE: refused, DropReason.GONE: len(scores) - len(living)}
        return candidates, {reason: count for reason, count in lost.items() if count}

    async def _scan(self, ask: Ask, passages: Iterable[Passage]) -> list[Candidate]:
        """What shares words with the question; time, asker and salience weigh here, too."""
        query = LexicalQuery(ask.text, ask.subject, carried=ask.used.carried)
        found = await self._arms.scan(query, ask.scope_filter, passages)
        weighed = []
        for candidate in found:
            factor = self._factor(ask, candidate.passage)
            # What is below the floor stays behind all that is not.
            score = candidate.relevance * (factor if candidate.relevance > 0 else 1.0)
            weighed.append(replace(candidate, score=score, factor=factor))
        return weighed

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

    def _judge(self, ask: Ask, passages: Iterable[Passage]) -> Judge:
        return Judge.of(
            ask.text,
            list(passages),
            subject=ask.subject,
            times=ask.times,
            asker=ask.asker,
            now=ask.now,
            floor=self._settings.relevance_floor,
        )

    def _asked(self, ask: Ask) -> Asked:
        among = sum(1 for _ in islice(self._passages.visible(ask.scope_filter), MANY))
        return Asked(ask.language, estimate_tokens(ask.subject), among, ask.remark)

    def _with_topics(
        self, ask: Ask, topics: Iterable[TopicQuestion], candidates: list[Candidate]
    ) -> list[Candidate]:
        """The candidates, and the newest of what stands in the files that are asked for."""
        for asked in topics:
            read = islice(self._passages.of_topics({asked.topic}, ask.scope_filter), READ)
            if asked.topic is Topic.TASKS:
                # What is done is no answer to what is left, nor the other way round.
                candidates = [
                    c
                    for c in candidates
                    if not is_task(c.passage) or is_done(c.passage) == asked.done
                ]
                found = [stored for stored in read if is_done(stored) == asked.done]
            else:
                found = list(read)
            candidates = with_topic(
                candidates, found, narrowed=asked.narrowed, factor=partial(self._factor, ask)
            )
        return candidates

    def _of_person(self, ask: Ask, asker: Actor | None, query: str) -> dict[Passage, float]:
        """All that is known of the person that is asked about, with its order; else nothing."""
        name = person_asked(query)
        if name is None or (name == "me" and asker is None):
            return {}
        about = About(frozenset({fold(name)}))
        if name == "me" and asker is not None:
            about = About(frozenset({fold(asker.name)} - {""}), ask.asker)
        visible = self._passages.visible(ask.scope_filter)
        memories = (one for one in visible if isinstance(one, StoredMemory))
        return about.known(memories, self._passages.folded)

    def _factor(self, ask: Ask, passage: Passage) -> float:
        span = in_time(passage, ask.times, ask.now.tzinfo)
        time_and_asker = time_factor(span) * speaker_factor(passage, "", ask.asker)
        uses = self._uses.of_passage(passage)
        return time_and_asker * salience(passage, ask.now.timestamp(), uses)

    def show(self, hits: Iterable[Hit]) -> None:
        """Whoever asked is shown these: an access of each memory."""
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


def _match(words: Found, key: Key) -> tuple[float, float] | None:
    match = words.words.get(key)
    return None if match is None else (match.score, match.coverage)


async def _nothing() -> None:
    return None
