"""Asks the arms for candidates, puts them in the fitted order, and decides whether any answers."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..catalogue.catalogue import key_of
from ..catalogue.rules.passage_text import shown_text
from ..catalogue.rules.timeline import repeats_entries
from ..errors import EmbeddingFailed, IndexUnavailable
from ..index.lexical_port import LexicalQuery
from ..index.passages import Passages
from ..models.key import Key
from ..models.passages import Passage, moment_of
from ..models.recall import Arm, DropReason
from ..text.normalising import estimate_tokens
from ..text.scripts import fold
from .arms import Arms, Found
from .embedder_trust import EmbedderTrust
from .parsed_question import Ask
from .rules.decision import Decision, decide
from .rules.features import LONG, Features, Message, recency
from .rules.parts import only_asks
from .rules.ranking import Candidate
from .rules.salience import (
    SALIENCE,
    SPEAKER,
    in_time,
    is_of,
    named_speaker,
    salience,
    time_factor,
)
from .rules.weights import RecallWeights, order_terms
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
    """Of the embedder in the order, 0 to 1."""

    @property
    def arm(self) -> Arm:
        """Which of them answered."""
        if self.words is None:
            return Arm.SCAN if self.vectors is None else Arm.DENSE
        return Arm.LEXICAL if self.vectors is None else Arm.HYBRID

    @property
    def share(self) -> float:
        """The embedder's part in the order of both."""
        return self.weight / (1 + self.weight)


@dataclass(frozen=True, slots=True)
class Ranked:
    """The candidates, and what was decided.

    Attributes:
        candidates: In no order; each knows its place in it.
        lost: How many the arms should not have named, by reason.
        chance: The probability that any of them answers; None where that is no question.
        values: What that was decided by, see ``of_answer``.
    """

    candidates: list[Candidate]
    lost: dict[DropReason, int] = field(default_factory=dict)
    chance: float | None = None
    values: Mapping[str, float] = field(default_factory=dict)


class CandidateSearch:
    """Asks both arms, or scans where neither can answer."""

    def __init__(
        self,
        passages: Passages,
        arms: Arms,
        trust: EmbedderTrust,
        uses: UseCounts,
        weights: RecallWeights,
        floor: float | None,
    ) -> None:
        """``floor``: the least probability at which something is said; None for the fitted one."""
        self._passages = passages
        self._arms = arms
        self._trust = trust
        self._uses = uses
        self._weights = weights
        self._floor = weights.floor if floor is None else floor
        self.scope_check_drops = 0
        """How many records the indexes have named that their filter should have kept back."""

    async def ask(self, ask: Ask, notes: list[str], stages: Stopwatch) -> Answer:
        """Both at the same time; the embedder only where it is trusted, or nothing else answers."""
        vectors = self.trusts_vectors(ask)
        # Before the index is asked: what is written into it meanwhile would be in neither.
        with self._arms.lag() as lag:
            by_words, near = await asyncio.gather(
                self.words(ask, notes),
                self.vectors(ask, notes) if vectors else _nothing(),
            )
            if by_words is None and not vectors:
                near = await self.vectors(ask, notes)
        stages.lap("index")
        for arm in (by_words, near):
            self.scope_check_drops += arm.refused if arm is not None else 0
        weight = ask.dense_weight if near is not None and near.similarities else 0.0
        if by_words is None:
            waiting = lag.living() if near is not None else ()
            return Answer(None, near, waiting=waiting, weight=weight)
        behind = frozenset(key for key in by_words.scores if key in lag)
        return Answer(by_words, near, behind, weight=weight)

    async def candidates(
        self, ask: Ask, answer: Answer, stages: Stopwatch, of_days: Iterable[Passage] = ()
    ) -> Ranked:
        """What the indexes name, or a scan where they cannot answer, in the fitted order.
        ``of_days``: what was said on the days asked for takes part."""
        words, vectors = answer.words or Found(), answer.vectors or Found()
        coverage = {key: match.coverage for key, match in words.words.items()}
        living = {
            key: passage
            for key in words.scores.keys() | vectors.similarities.keys()
            if (passage := self._passages.get(key))
        }
        lost = {
            DropReason.SCOPE: words.refused + vectors.refused,
            DropReason.GONE: len(words.scores.keys() | vectors.similarities.keys()) - len(living),
        }
        if answer.words is None:
            everything = answer.arm is Arm.SCAN
            waiting = self._passages.visible(ask.scope_filter) if everything else answer.waiting
            query = LexicalQuery(ask.text, ask.subject, carried=ask.used.carried)
            among = (*living.values(), *waiting)
            shares = await self._arms.scan(query, ask.scope_filter, among)
            living |= {key_of(passage): passage for passage, _ in shares}
            coverage = {key_of(passage): share for passage, share in shares}
            stages.lap("scan")
        elif ask.times:
            # Of what was said on the days asked for, all may stand behind newer words alike.
            others = [one for one in of_days if key_of(one) not in coverage]
            query = LexicalQuery(ask.text, ask.subject)
            for passage, share in await self._arms.scan(query, ask.scope_filter, others):
                living[key_of(passage)] = passage
                coverage[key_of(passage)] = share
            stages.lap("days")
        # What a digest repeats answers by itself, and says more. What was asked answers nothing.
        passages = {
            key: one
            for key, one in living.items()
            if not repeats_entries(one) and not (ask.in_talk and self._is_question(one))
        }
        scores = coverage if answer.words is None else words.scores
        rows = self._rows(ask, answer, passages, coverage, scores)
        decision = self._decide(ask, answer, rows)
        candidates = [
            Candidate(
                passages[key],
                decision.relevance(place, in_talk=ask.in_talk, floor=self._floor),
                score=decision.scores[place],
                match=decision.matches[place],
                factor=decision.factors[place],
                lexical=words.words[key].score if key in words.words else None,
                coverage=coverage.get(key, 0.0),
                similarity=vectors.similarities.get(key),
                weak=decision.is_weak(place, floor=self._floor),
                terms=order_terms(self._weights.order.at(answer.weight), row),
            )
            for place, (key, row) in enumerate(rows.items())
        ]
        stages.lap("join")
        lost = {reason: count for reason, count in lost.items() if count}
        return Ranked(candidates, lost, decision.chance, decision.values)

    def _is_question(self, passage: Passage) -> bool:
        return self._passages.is_unread(passage) and only_asks(shown_text(passage))

    def _rows(
        self,
        ask: Ask,
        answer: Answer,
        passages: Mapping[Key, Passage],
        coverage: Mapping[Key, float],
        scores: Mapping[Key, float],
    ) -> dict[Key, Features]:
        named = named_speaker(ask.text, passages.values())
        near = self._near(ask, answer, passages, coverage)
        asked_at, question = ask.now.timestamp(), fold(ask.text)
        return {
            key: Features(
                near=near.get(key, 0.0),
                covered=coverage.get(key, 0.0),
                words=scores.get(key, 0.0),
                verbatim=float(question in self._passages.folded(passage)),
                time=math.log(time_factor(in_time(passage, ask.times, ask.now.tzinfo))),
                speaker=float(is_of(passage, named, ask.asker)),
                recent=recency((asked_at - moment_of(passage).timestamp()) / 86_400),
                salient=salience(passage, self._uses.of_passage(passage)),
            )
            for key, passage in passages.items()
        }

    def _near(
        self,
        ask: Ask,
        answer: Answer,
        keys: Iterable[Key],
        coverage: Mapping[Key, float],
    ) -> dict[Key, float]:
        """In standard deviations above chance, at least 0; of what the embedder's index cannot know
        yet what its words lead to expect."""
        if answer.vectors is None or not answer.vectors.similarities:
            return {}
        similarities = answer.vectors.similarities
        scale = self._trust.scale(ask.language, answer.vectors.vector)
        far = min(similarities.values())
        low, slope = self._weights.unknown
        waiting = {key_of(passage) for passage in answer.waiting}.union(answer.behind)
        return {
            key: low + slope * coverage.get(key, 0.0)
            if key in waiting and key not in similarities
            else max(scale.above_chance(similarities.get(key, far)), 0.0)
            for key in keys
        }

    def _decide(self, ask: Ask, answer: Answer, rows: Mapping[Key, Features]) -> Decision:
        weights, vector = self._weights, answer.vectors.vector if answer.vectors else None
        probe = weights.probes.get(self._trust.model)
        message = Message(
            # Where the talk before is what is asked for, the message's own length says nothing.
            tokens=LONG if ask.used.carried else estimate_tokens(ask.subject),
            asks=float(ask.asks),
            probe=0.0 if probe is None or vector is None else probe.log_odds(vector.tolist()),
        )
        return decide(weights, answer.weight, message, list(rows.values()))

    def trusts_vectors(self, ask: Ask) -> bool:
        """True where the embedder is asked beside the words."""
        return ask.dense_weight > 0

    async def words(self, ask: Ask, notes: list[str]) -> Found | None:
        """None where their index cannot answer; ``notes`` says why."""
        try:
            query = LexicalQuery(ask.text, ask.subject, ask.around, ask.used.carried)
            return await self._arms.words(query, ask.scope_filter)
        except IndexUnavailable as error:
            notes.append(f"lexical: {error}")
            return None

    async def vectors(self, ask: Ask, notes: list[str]) -> Found | None:
        """None where the embedder or its index cannot answer; ``notes`` says why."""
        try:
            common = self._trust.common(ask.language)
            return await self._arms.vectors(ask.embedded, ask.scope_filter, common)
        except (IndexUnavailable, EmbeddingFailed) as error:
            notes.append(f"dense: {error}")
            return None

    def factor(self, ask: Ask, passage: Passage) -> float:
        """What the time asked for and the asker make of a candidate that no text orders."""
        span = in_time(passage, ask.times, ask.now.tzinfo)
        own = SPEAKER if is_of(passage, "", ask.asker) else 1.0
        uses = self._uses.of_passage(passage)
        return time_factor(span) * own * (1 + SALIENCE * salience(passage, uses))


async def _nothing() -> None:
    return None
