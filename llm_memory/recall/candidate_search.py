"""Asks the arms for candidates and puts what they found in one order."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from ..catalogue.rules.timeline import repeats_entries
from ..errors import EmbeddingFailed, IndexUnavailable
from ..index.lexical_port import LexicalQuery
from ..index.passages import Passages
from ..models.key import Key
from ..models.passages import Passage
from ..models.recall import Arm, DropReason
from ..text.normalising import estimate_tokens
from .arms import Arms, Found
from .embedder_trust import EmbedderTrust
from .parsed_question import Ask
from .rules.evidence import MANY, Asked, evidence
from .rules.fusion import fuse, min_max_scaled
from .rules.ranking import Candidate, beside_relevant
from .rules.relevance import Judge
from .rules.salience import in_time, salience, speaker_factor, time_factor
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


class CandidateSearch:
    """Asks both arms, one alone, or scans where neither can answer."""

    def __init__(
        self,
        passages: Passages,
        arms: Arms,
        trust: EmbedderTrust,
        uses: UseCounts,
        relevance_floor: float | None,
    ) -> None:
        self._passages = passages
        self._arms = arms
        self._trust = trust
        self._uses = uses
        self._relevance_floor = relevance_floor
        self.scope_check_drops = 0
        """How many records the indexes have named that their filter should have kept back."""

    async def candidates(
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

    async def ask(
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
            factor = self.factor(ask, candidate.passage)
            # What is below the floor stays behind all that is not.
            score = candidate.relevance * (factor if candidate.relevance > 0 else 1.0)
            weighed.append(replace(candidate, score=score, factor=factor))
        return weighed

    def _judge(self, ask: Ask, passages: Iterable[Passage]) -> Judge:
        return Judge.of(
            ask.text,
            list(passages),
            subject=ask.subject,
            times=ask.times,
            asker=ask.asker,
            now=ask.now,
            floor=self._relevance_floor,
        )

    def _asked(self, ask: Ask) -> Asked:
        among = sum(1 for _ in islice(self._passages.visible(ask.scope_filter), MANY))
        return Asked(ask.language, estimate_tokens(ask.subject), among, ask.remark)

    def factor(self, ask: Ask, passage: Passage) -> float:
        """What the time asked for, the asker and salience make of a candidate's score."""
        span = in_time(passage, ask.times, ask.now.tzinfo)
        time_and_asker = time_factor(span) * speaker_factor(passage, "", ask.asker)
        uses = self._uses.of_passage(passage)
        return time_and_asker * salience(passage, ask.now.timestamp(), uses)


def _match(words: Found, key: Key) -> tuple[float, float] | None:
    match = words.words.get(key)
    return None if match is None else (match.score, match.coverage)


async def _nothing() -> None:
    return None
