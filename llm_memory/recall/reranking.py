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

TOP: Final = 20
"""Candidates that it is shown: hits are few, and each text costs time, or money."""
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

    async def order(
        self, query: str, best: Sequence[Candidate], spent: float, notes: list[str]
    ) -> tuple[Sequence[Candidate], str]:
        """The first ``TOP`` ordered anew, and by whom; or as they were, by nobody, and ``notes``
        says why. Never raises for what the reranker does.

        Args:
            best: Relevant and visible to the asker: their texts go out of the house.
            spent: Seconds that the recall has taken.
        """
        if self._reranker is None or len(best) < 2:
            return best, ""
        label, left = self._reranker.label, self._settings.rerank_within_seconds - spent
        if (rest := self._rests_until - self._clock()) > 0:
            notes.append(f"rerank {label}: resting: {rest:.0f} s")
            return best, ""
        texts = [_told(one, query, self._settings.preview_chars) for one in best[:TOP]]
        try:
            seconds = min(self._settings.rerank_seconds, left)
            scores = await _scores(self._reranker, query, texts, seconds)
        except RerankFailed as error:
            if str(error).partition(":")[0] not in _AT_ONCE:
                self._rests_until = self._clock() + RESTS[min(self._failures, len(RESTS) - 1)]
                self._failures += 1
            notes.append(f"rerank {label}: {error}")
            return best, ""
        self._failures = 0
        return reordered(best, scores), label


async def _scores(
    reranker: Reranker, query: str, texts: Sequence[str], seconds: float
) -> list[float]:
    """One finite number a text. Returns in time even from a call that ignores its cancellation."""
    if seconds <= 0:
        raise RerankFailed("no_time")
    task = asyncio.ensure_future(reranker.rerank(query, texts))
    # Seen, so that asyncio does not print it for an abandoned call.
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        task.cancel()  # nothing to a task that is done
    if not task.done():
        raise RerankFailed(f"timeout: {seconds:.2g} s")
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


def _told(candidate: Candidate, query: str, preview_chars: int) -> str:
    """What it is shown of a candidate: who said it, or the headings above it, and the preview.
    Nothing that a hit would not show."""
    hit = as_hit(candidate, preview_chars, query)
    about = HEADING_SEPARATOR.join(hit.headings) or hit.who
    return f"{about}：{hit.preview}" if about else hit.preview


def reordered(best: Sequence[Candidate], scores: Sequence[float]) -> list[Candidate]:
    """``best``, the first of them, one a score, ordered anew: probability times factor, for a
    reranker knows neither dates nor who asks. Among equals the order stays.

    Scores from 0 to 1 are probabilities; others are logits, and become what such a model is trained
    to give. Logits that differ where their probabilities no longer do still tell what is better.
    """
    are_shares = all(0.0 <= score <= 1.0 for score in scores)
    judged = []
    for one, score in zip(best, scores, strict=False):
        one.reranked = score
        # Of a logit 1 / (1 + e^-x), without overflow.
        share = score if are_shares else (1.0 + math.tanh(score / 2.0)) / 2.0
        judged.append((share * one.factor, score, one))
    judged.sort(key=lambda each: each[:2], reverse=True)
    return [*(one for *_, one in judged), *best[len(judged) :]]
