"""What moves a candidate up or down beside its words: time, speaker, salience. Factors, pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import tzinfo

from ...catalogue.rules.event_day import noted_day
from ...catalogue.rules.passage_text import shown_text
from ...catalogue.rules.timeline import local_day
from ...models.data_models import StoredMemory
from ...models.passages import Passage, said_by
from ...text.dates.spans import Precision, TimeSpan
from ...text.scripts import WIDE, fold

_BY_PRECISION = {
    Precision.DAY: 4.0,
    Precision.WEEK: 2.5,
    Precision.MONTH: 2.0,
    Precision.SPAN: 2.0,
    Precision.YEAR: 1.3,
}
"""What a match of the date named is worth: the more exact, the more."""
_MIDDLE = 50
_STRENGTH, _ACCESS = 0.75, 0.25
"""Shares of salience."""
_USES = 8.0
"""After so many accesses half of what access can give is given."""
_FIRST_PERSON = re.compile(
    r"我(?!们)|俺|咱(?!们)|\b(?:i|i'm|i've|i'd|me|my|mine|myself)\b", re.IGNORECASE
)
_LEAST_NAME = 2


def is_first_person(query: str) -> bool:
    """True for a question in which the asker speaks of themselves."""
    return _FIRST_PERSON.search(query) is not None


def in_time(
    passage: Passage, spans: Sequence[TimeSpan], zone: tzinfo | None = None
) -> TimeSpan | None:
    """The most exact of the spans that the passage's own day lies in, or that it tells of.
    ``zone`` is the asker's; without one, days are those of the zone in which it was written."""
    if not spans:
        return None
    told = noted_day(passage.memory) if isinstance(passage, StoredMemory) else None
    own = {local_day(passage, zone), told}
    text = ""
    matches = []
    for span in spans:
        text = text or shown_text(passage).casefold()
        named = span.words.casefold() in text or f"{span.start:%Y-%m-%d}" in text
        is_own = any(day is not None and span.start <= day <= span.end for day in own)
        if is_own or (named and not span.vague):
            matches.append(span)
    return max(matches, key=lambda span: _BY_PRECISION[span.precision], default=None)


def time_factor(span: TimeSpan | None) -> float:
    """1 where no time that the question names is met."""
    return 1.0 if span is None else _BY_PRECISION[span.precision]


def named_speaker(query: str, passages: Collection[Passage]) -> str:
    """Who of those that speak is named in a question; empty for none, and for several."""
    folded = _folded(query)
    named = {name for name in {said_by(p) for p in passages} if _is_named(_folded(name), folded)}
    if len(named) > 1:
        # 小明 in 小明明: the longer name is meant. Two people: a question about both.
        named = {n for n in named if not any(n != other and n in other for other in named)}
    return next(iter(named)) if len(named) == 1 else ""


def _is_named(name: str, query: str) -> bool:
    if len(name) < _LEAST_NAME:
        return False
    if WIDE.search(name):
        return name in query
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", query) is not None


def _folded(text: str) -> str:
    return fold(text).strip()


def is_of(passage: Passage, name: str, asker: Collection[str]) -> bool:
    """True for what the one named said, and for what was said under an id of ``asker``'s."""
    if not isinstance(passage, StoredMemory):
        return False
    origin = passage.memory.provenance
    return bool(name and origin.who == name) or origin.person in asker


def salience(passage: Passage, uses: int = 0) -> float:
    """-0.75 to 1: how strong it is (reinforced, important), and how often it was shown and found
    useful. What was never used is not held back for it: it may be new."""
    if not isinstance(passage, StoredMemory):
        return 0.0
    strength = (passage.memory.strength - _MIDDLE) / _MIDDLE
    access = 1 - float(0.5 ** (uses / _USES)) if uses > 0 else 0.0
    return _STRENGTH * strength + _ACCESS * access


def without_times(query: str, spans: Sequence[TimeSpan]) -> str:
    """What is asked apart from when."""
    parts = []
    end = 0
    for span in spans:
        parts.append(query[end : span.first])
        end = span.last
    return " ".join((*parts, query[end:]))
