"""The order that a reranker gives to the best candidates. It orders: what is relevant at all has
been decided before. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...catalogue.rules.passage_text import HEADING_SEPARATOR
from .ranking import Candidate, as_hit

TOP = 20
"""Candidates that it is shown: hits are few, and each text costs time, or money."""


def question_text(candidate: Candidate, query: str, preview_chars: int) -> str:
    """What it is shown of a candidate: who said it, or the headings above it, and the preview.
    Nothing that a hit would not show."""
    hit = as_hit(candidate, preview_chars, query)
    about = HEADING_SEPARATOR.join(hit.headings) or hit.who
    return f"{about}：{hit.preview}" if about else hit.preview


def probabilities(scores: Sequence[float]) -> list[float]:
    """Scores from 0 to 1 as they stand; else they are logits, and become what such a model is
    trained to give: ``1 / (1 + e^-x)``, without overflow ``(1 + tanh(x / 2)) / 2``."""
    if all(0.0 <= score <= 1.0 for score in scores):
        return list(scores)
    return [(1.0 + math.tanh(score / 2.0)) / 2.0 for score in scores]


def reordered(best: Sequence[Candidate], scores: Sequence[float]) -> list[Candidate]:
    """``best``, the first of them, one a score, ordered anew: probability times factor, for a
    reranker knows neither dates nor who asks. Among equals the order stays.

    Logits that differ where their probabilities no longer do still tell what is better.
    """
    judged = [
        (shared * candidate.factor, score, replace(candidate, reranked=score))
        for candidate, score, shared in zip(best, scores, probabilities(scores), strict=False)
    ]
    judged.sort(key=lambda one: one[:2], reverse=True)
    return [candidate for *_, candidate in judged] + list(best[len(judged) :])
