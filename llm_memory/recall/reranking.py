"""Asks a reranker for the order of what a recall is about to show. It orders: what is relevant at
all has been decided before."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from ..catalogue.rules.passage_text import HEADING_SEPARATOR
from ..errors import RerankFailed
from ..models.settings import EngineSettings
from .rules.choosing import Candidate, as_hit
from .rules.order import BESIDE

TOP: Final = 20
"""Candidates that it is shown: hits are few, and each text costs time, or money."""
REST: Final = 60.0
"""Seconds that one that has failed is left alone: one that keeps timing out would make every recall
wait for nothing."""


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
    """Whatever the reranker does, the recall has an order, in time. ``_reranker``: None where the
    owner wants none."""

    _reranker: Reranker | None
    _settings: EngineSettings
    _clock: Callable[[], float] = time.monotonic
    _rests_until: float = -math.inf

    async def order(
        self, query: str, best: list[Candidate], spent: float, notes: list[str]
    ) -> list[Candidate]:
        """The first ``TOP`` ordered anew; or as they were, and ``notes`` says why. Never raises for
        what the reranker does.

        Args:
            best: Relevant and visible to the asker: their texts go out of the house.
            spent: Seconds that the recall has taken.
        """
        if self._reranker is None or len(best) < 2:
            return best
        left = self._settings.rerank_within_seconds - spent
        if left <= 0 or self._clock() < self._rests_until:
            notes.append(f"rerank {self._reranker.label}: not_asked")
            return best
        hits = (as_hit(one, self._settings.preview_chars, query) for one in best[:TOP])
        about = ((HEADING_SEPARATOR.join(hit.headings) or hit.who, hit.preview) for hit in hits)
        texts = ["：".join(filter(None, one)) for one in about]
        try:
            seconds = min(self._settings.rerank_seconds, left)
            return reordered(best, await _scores(self._reranker, query, texts, seconds))
        except RerankFailed as error:
            self._rests_until = self._clock() + REST
            notes.append(f"rerank {self._reranker.label}: {error}")
            return best


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
    """``best``, the first of them, one a score, ordered anew: probability times what time, speaker
    and salience make of the odds, for a reranker knows none of these. Among equals the order stays.

    Scores from 0 to 1 are probabilities; others are logits, and become what such a model is trained
    to give.
    """
    if not all(0.0 <= score <= 1.0 for score in scores):
        # 1 / (1 + e^-x), without overflow.
        scores = [(1.0 + math.tanh(score / 2.0)) / 2.0 for score in scores]
    judged = [
        (score * math.exp(sum(one.terms.get(name, 0.0) for name in BESIDE)), one)
        for one, score in zip(best, scores, strict=False)
    ]
    judged.sort(key=lambda each: -each[0])
    return [*(one for _, one in judged), *best[len(judged) :]]
