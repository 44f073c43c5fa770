"""Recall: read, find, order, tell once, choose. What a reranker is asked for is an order: what is
relevant at all has been decided before."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from itertools import chain
from typing import Final, Protocol

from ..catalogue.rules.passage_text import HEADING_SEPARATOR
from ..errors import RerankFailed
from ..index.passages import Passages
from ..models.passages import Key, moment_of
from ..models.recall import GIVEN_UP, Arm, Considered, Hit, Recall, Trace
from ..models.settings import EngineSettings
from ..text.hit_line import line_tokens
from ..texts import Texts
from .afterwards import Explanations, UseCounts
from .find import CandidateFinder, Found
from .question import Ask, RecallRequest, read
from .rules import tell_once
from .rules.order import BESIDE, Candidate, as_hit, choose
from .weights import RecallWeights
from .whole_answers import Whole

TRACED: Final = 30
"""Candidates that a trace tells of."""
TOP: Final = 20
"""Candidates that it is shown: hits are few, and each text costs time, or money."""
REST: Final = 60.0
"""Seconds that one that has failed is left alone: else every recall would wait for nothing."""


class Reranker(Protocol):
    """Reads question and text together, which embedders do not. Trusted with nothing: its caller
    sets the deadline and looks at what it answers. ``label``: what a trace calls it."""

    @property
    def label(self) -> str: ...

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One score a text, in the order of the texts, the greater the better: probabilities from
        0 to 1, or logits. Raises RerankFailed."""
        ...


@dataclass(eq=False)
class Reranking:
    """Whatever the reranker does, or where the owner wants none, there is an order, in time."""

    _reranker: Reranker | None
    _settings: EngineSettings
    _clock: Callable[[], float] = time.monotonic
    _rests_until: float = -math.inf

    async def order(
        self, query: str, best: list[Candidate], spent: float, notes: list[str]
    ) -> list[Candidate]:
        """The first ``TOP`` ordered anew; or as they were, and ``notes`` says why.

        Args:
            best: Relevant and visible to the asker: their texts go out of the house.
            spent: Seconds that the recall has taken.
        """
        if self._reranker is None or len(best) < 2:
            return best
        within = self._settings.rerank_within_seconds - spent
        seconds = min(self._settings.rerank_seconds, within)
        if seconds <= 0 or self._clock() < self._rests_until:
            notes.append(f"rerank {self._reranker.label}: not_asked")
            return best
        hits = (as_hit(one, self._settings.preview_chars, query) for one in best[:TOP])
        about = ((HEADING_SEPARATOR.join(hit.headings) or hit.who, hit.preview) for hit in hits)
        texts = ["：".join(filter(None, one)) for one in about]
        try:
            return reordered(best, await _scores(self._reranker, query, texts, seconds))
        except RerankFailed as error:
            self._rests_until = self._clock() + REST
            notes.append(f"rerank {self._reranker.label}: {error}")
            return best


@dataclass(eq=False)
class MemoryManager:
    """Takes an already resolved scope filter."""

    _passages: Passages
    _finder: CandidateFinder
    _reranking: Reranking
    explanations: Explanations
    uses: UseCounts
    _settings: EngineSettings
    _clock: Callable[[], datetime]
    _weights: RecallWeights
    _texts: Texts

    async def comprehensive_recall(self, request: RecallRequest) -> Recall:
        """The best visible passages for a query, within limit and budget; of a query that asks for
        several things, for each beside the whole. Never raises for a broken index or embedder:
        then another arm answers, and at last a scan. Why nothing came is explained later, too."""
        began, seen = time.perf_counter(), request.scope_filter
        asked = read(request, self._clock(), self._settings.identity_links)
        if not asked or request.limit < 1:
            return Recall()
        if request.silence:
            return Recall(trace=Trace(notes=[request.silence]))
        trace = Trace(scopes=seen.names)
        try:
            await self._passages.ahead(asked[0].request.query, seen)
            each = await self._finder.find(asked)
            await asyncio.gather(*(self._ordered(one, began) for one in each))
            found = joined(each)
            trace, hits = found.trace, self._chosen(found, request)
            trace.milliseconds = (time.perf_counter() - began) * 1000
        except BaseException as error:
            given_up = isinstance(error, asyncio.CancelledError)
            trace.notes.append(GIVEN_UP if given_up else type(error).__name__)
            raise
        finally:
            self.explanations.note(request.conversation, request.query, trace)
        self.uses.show(hits)
        left_out = len(found.candidates) - len(hits) if trace.arm is Arm.DATES else 0
        return Recall(hits, trace, left_out)

    def _chosen(self, found: Found, request: RecallRequest) -> tuple[Hit, ...]:
        """What is told of it; its trace says what became of the rest."""
        trace, best = found.trace, found.candidates
        complete = cache(request.complete)  # for the budget, and for who is told
        hits = choose(
            best,
            limit=request.limit if found.whole.limit is None else found.whole.limit,
            token_budget=request.token_budget,
            preview_chars=self._settings.preview_chars,
            cost=lambda hit: line_tokens(complete(hit), self._texts),
            query=found.ask.request.query,
            briefly=found.whole.briefly,
        )
        told = _once(chain(*((one, *one.also) for one in best), found.others))
        trace.considered = tuple(
            Considered(*one.key, one.score, one.dropped, one.terms) for one in told[:TRACED]
        )
        return tuple(map(complete, hits))

    async def _ordered(self, found: Found, began: float) -> None:
        """Leaves as candidates what may be shown, best first, each thing once."""
        ask, trace = found.ask, found.trace
        by_date, stands = trace.arm is Arm.DATES, ask.request.stands
        ranked = sorted(
            self._living(found.candidates),
            key=lambda one: (one.place, -one.score, -moment_of(one.passage).timestamp()),
        )
        best = [one for one in ranked if one.relevance >= 0]
        below = [one for one in ranked if one.relevance < 0]
        if not (by_date or found.whole.best):
            spent = time.perf_counter() - began
            best = await self._reranking.order(ask.request.query, best, spent, trace.notes)
            best = [*self._living(best)]
        known = {one.key: one for one in ranked}
        record = partial(self._passages.record, scope_filter=ask.request.scope_filter)
        stored = tell_once.stored_instead(best, self._passages.copied)
        told = tell_once.closed_last(stored, known, self._passages.get, record)
        trace.holding = max(trace.holding - max(len(best) - len(told), 0), 0)
        best = tell_once.merge_same_facts(told)
        if not by_date:
            below = _without(below, best)
            if not _names_past_date(ask):
                is_unread = self._passages.is_unread
                best = tell_once.newer_first(best, below, self._weights.newer, is_unread, stands)
            best = tell_once.standing_first(best, stands)
        found.candidates, found.others = best, _without(below, best)

    def _living(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """They were waited for: what was forgotten or moved meanwhile is not shown."""
        for one in candidates:
            if (passage := self._passages.get(one.key)) is not None:
                one.passage = passage
                yield one


def joined(each: Sequence[Found]) -> Found:
    """What was found for each question of a message, as one: the best of each, then the others of
    the first, which is the whole, and so on, with the decision on the one that is answered best."""
    if len(each) == 1:
        return each[0]
    firsts = (one.candidates[:1] for one in each)
    best = _once(chain(*firsts, *(one.candidates for one in each)))
    others = _once(chain(*(one.others for one in each)))
    traces = [one.trace for one in each]
    trace = max(traces, key=lambda one: one.chance or 0.0)
    trace.notes = list(dict.fromkeys(chain(*(one.notes for one in traces))))
    trace.talk, trace.holding = traces[0].talk, 0  # holding is of the words of one question
    return Found(each[0].ask, Whole(), trace, candidates=best, others=_without(others, best))


def _once(ranked: Iterable[Candidate]) -> list[Candidate]:
    found: dict[Key, Candidate] = {}
    for one in ranked:
        found.setdefault(one.key, one)
    return [*found.values()]


def _without(candidates: Sequence[Candidate], others: Sequence[Candidate]) -> list[Candidate]:
    keys = {one.key for one in others}
    return [one for one in candidates if one.key not in keys]


def _names_past_date(ask: Ask) -> bool:
    """Whether it asks what was so on a date: 昨天, 9月份; a bare weekday is as often a plan's."""
    return any(
        not span.vague
        and span.end < ask.now.date()
        and (span.relative or any(map(str.isdigit, span.words)))
        for span in ask.times
    )


async def _scores(
    reranker: Reranker, query: str, texts: Sequence[str], seconds: float
) -> list[float]:
    """One finite number a text. Returns in time even from a call that ignores its cancellation."""
    task = asyncio.ensure_future(reranker.rerank(query, texts))
    # Seen, so that asyncio does not print it for an abandoned call.
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        task.cancel()  # nothing to a task that is done
    if not task.done():
        raise RerankFailed("timeout")
    try:
        scores = [float(score) for score in task.result()]
    except RerankFailed:
        raise
    except (Exception, asyncio.CancelledError) as error:
        # The type alone: a foreign message may quote a text, or a key.
        raise RerankFailed(f"error: {type(error).__name__}") from error
    if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
        raise RerankFailed(f"bad_scores: {len(scores)} for {len(texts)}")
    return scores


def reordered(best: Sequence[Candidate], scores: Sequence[float]) -> list[Candidate]:
    """The first of ``best``, one a score, by probability times what time, speaker and salience make
    of the odds, for a reranker knows none of these. Among equals the order stays. Scores beyond 0
    to 1 are logits, and become what such a model is trained to give."""
    if not all(0.0 <= score <= 1.0 for score in scores):
        # 1 / (1 + e^-x), without overflow.
        scores = [(1.0 + math.tanh(score / 2.0)) / 2.0 for score in scores]
    judged = [
        (score * math.exp(sum(one.terms.get(name, 0.0) for name in BESIDE)), one)
        for one, score in zip(best, scores, strict=False)
    ]
    judged.sort(key=lambda each: -each[0])
    return [*(one for _, one in judged), *best[len(judged) :]]
