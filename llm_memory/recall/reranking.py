"""Asks a reranker for the order of what a recall is about to show. It orders: what is relevant at
all has been decided before."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from ..catalogue.rules.passage_text import HEADING_SEPARATOR
from ..errors import RerankFailed
from ..models.settings import EngineSettings
from .rules.choosing import Candidate, as_hit

TOP: Final = 20
"""Candidates that it is shown: hits are few, and each text costs time, or money."""
_FEWEST: Final = 2
RESTS: Final = (0.0, 0.0, 30.0, 120.0, 300.0)
"""Seconds that it is left alone after the first, second, … failure in a row: one that keeps timing
out would make every recall wait for nothing."""
_AT_ONCE: Final = ("gone", "no_time")
"""What costs no waiting, and says nothing of how it will do next time."""


class Reranker(Protocol):
    """Reads question and text together, which embedders do not. Trusted with nothing: its caller
    sets the deadline and looks at what it answers."""

    @property
    def label(self) -> str:
        """What a trace calls it."""
        ...

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One score a text, in the order of the texts, the greater the better: probabilities from
        0 to 1, or logits. Raises RerankFailed."""
        ...


@dataclass(eq=False)
class Reranking:
    """Whatever the reranker does, the recall has an order, in time. ``_reranker``: None where the
    owner wants none."""

    _reranker: Reranker | None
    _settings: EngineSettings
    _clock: Callable[[], float] = time.monotonic
    _failures: int = 0
    _rests_until: float = -math.inf
    _running: set[asyncio.Task[Any]] = field(default_factory=set)

    async def order(
        self, query: str, best: Sequence[Candidate], spent: float, notes: list[str]
    ) -> tuple[Sequence[Candidate], str]:
        """The first ``TOP`` ordered anew, and by whom; or as they were, by nobody, and ``notes``
        says why. Never raises for what the reranker does.

        Args:
            best: Relevant and visible to the asker: their texts go out of the house.
            spent: Seconds that the recall has taken.
        """
        if self._reranker is None or len(best) < _FEWEST:
            return best, ""
        label = self._reranker.label
        if (rest := self._rests_until - self._clock()) > 0:
            notes.append(f"rerank {label}: resting: {rest:.0f} s")
            return best, ""
        left = self._settings.rerank_within_seconds - spent
        texts = [_told(one, query, self._settings.preview_chars) for one in best[:TOP]]
        try:
            seconds = min(self._settings.rerank_seconds, left)
            scores = await self._scores(self._reranker, query, texts, seconds)
        except RerankFailed as error:
            if str(error).partition(":")[0] not in _AT_ONCE:
                rest = RESTS[min(self._failures, len(RESTS) - 1)]
                self._failures += 1
                self._rests_until = self._clock() + rest
            notes.append(f"rerank {label}: {error}")
            return best, ""
        self._failures = 0
        return reordered(best, scores), label

    async def _scores(
        self, reranker: Reranker, query: str, texts: Sequence[str], seconds: float
    ) -> list[float]:
        """One finite number a text. Returns in time even from a call that ignores its
        cancellation."""
        if seconds <= 0:
            raise RerankFailed("no_time")
        task = asyncio.ensure_future(reranker.rerank(query, texts))
        self._running.add(task)
        task.add_done_callback(self._finished)
        try:
            await asyncio.wait({task}, timeout=seconds)
        finally:
            task.cancel()  # nothing to a task that is done
        if not task.done():
            raise RerankFailed(f"timeout: {seconds:.2g} s")
        if task.cancelled():
            raise RerankFailed("cancelled")
        error = task.exception()
        if isinstance(error, RerankFailed):
            raise error
        if error is not None:
            # The type alone: a foreign message may quote a text, or a key.
            raise RerankFailed(f"error: {type(error).__name__}") from error
        return _accepted(task.result(), len(texts))

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # seen, so that asyncio does not print it for an abandoned call

    def clear(self) -> None:
        """Cancel calls whose caller is gone."""
        for task in self._running:
            task.cancel()


def _told(candidate: Candidate, query: str, preview_chars: int) -> str:
    """What it is shown of a candidate: who said it, or the headings above it, and the preview.
    Nothing that a hit would not show."""
    hit = as_hit(candidate, preview_chars, query)
    about = HEADING_SEPARATOR.join(hit.headings) or hit.who
    return f"{about}：{hit.preview}" if about else hit.preview


def _accepted(answer: Iterable[Any], count: int) -> list[float]:
    try:
        scores = [float(score) for score in answer]
    except (TypeError, ValueError, OverflowError) as error:
        raise RerankFailed("not_numeric") from error
    if len(scores) != count:
        raise RerankFailed(f"wrong_count: {len(scores)} for {count}")
    if not all(map(math.isfinite, scores)):
        raise RerankFailed("not_finite")
    return scores


def reordered(best: Sequence[Candidate], scores: Sequence[float]) -> list[Candidate]:
    """``best``, the first of them, one a score, ordered anew: probability times factor, for a
    reranker knows neither dates nor who asks. Among equals the order stays.

    Scores from 0 to 1 are probabilities; others are logits, and become what such a model is trained
    to give. Logits that differ where their probabilities no longer do still tell what is better.
    """
    if all(0.0 <= score <= 1.0 for score in scores):
        shares = scores
    else:  # 1 / (1 + e^-x), without overflow
        shares = [(1.0 + math.tanh(score / 2.0)) / 2.0 for score in scores]
    judged = []
    for one, score, share in zip(best, scores, shares, strict=False):
        one.reranked = score
        judged.append((share * one.factor, score, one))
    judged.sort(key=lambda each: each[:2], reverse=True)
    return [one for *_, one in judged] + list(best[len(judged) :])
