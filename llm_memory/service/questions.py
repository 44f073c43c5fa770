"""A question as it is read before anything is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ..models.conversation import Actor
from ..models.scope import ScopeFilter
from ..policies.language import Language, language_of
from ..policies.preference import ids_of, is_first_person, without_times
from ..policies.text import clean
from ..policies.time_expressions import TimeSpan, find_times

MAX_QUERY = 800
"""Characters: what is looked for costs time in proportion to its length."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One question, read.

    Attributes:
        text: Cleaned, bounded.
        asker: The ids of who asks of himself; none in any other question.
        times: The times that it names.
        subject: The text without them.
        dense_weight: How far the embedder is trusted for the language.
    """

    text: str
    scope_filter: ScopeFilter
    asker: frozenset[str]
    now: datetime
    times: tuple[TimeSpan, ...]
    subject: str
    language: Language | None
    dense_weight: float


def readable(query: str) -> str:
    """What can be asked of a message: of a long one the beginning and the end, for a question
    stands at either. Empty where nobody could see anything in it."""
    text = clean(query)
    if len(text) <= MAX_QUERY:
        return text
    return f"{text[: MAX_QUERY // 2]} {text[-MAX_QUERY // 2 :]}"


def read_question(
    query: str,
    scope_filter: ScopeFilter,
    asker: Actor | None,
    now: datetime,
    weight: Callable[[Language | None], float],
    links: Mapping[str, str],
) -> Ask:
    """``query`` is readable; ``weight`` tells the embedder's share for a language; ``links`` who is
    the same person."""
    times = find_times(query, now)
    language = language_of(query)
    return Ask(
        text=query,
        scope_filter=scope_filter,
        asker=ids_of(asker.person, links) if asker and is_first_person(query) else frozenset(),
        now=now,
        times=times,
        subject=without_times(query, times),
        language=language,
        dense_weight=weight(language),
    )
