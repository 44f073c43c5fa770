"""What moves a candidate up or down beside its words: time, speaker, salience. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import tzinfo

from ...catalogue.rules.event_day import told
from ...catalogue.rules.passage_text import shown_text
from ...catalogue.rules.timeline import local_day
from ...models.data_models import StoredMemory
from ...models.passages import Passage
from ...text.dates.spans import TimeSpan
from ...text.scripts import fold

_MIDDLE = 50
_USES = 8.0
"""After so many accesses half of what access can give is given."""
_FIRST_PERSON = re.compile(
    r"我(?!们)|俺|咱(?!们)|\b(?:i|i'm|i've|i'd|me|my|mine|myself)\b", re.IGNORECASE
)


def is_first_person(query: str) -> bool:
    """True for a question in which the asker speaks of themselves."""
    return _FIRST_PERSON.search(query) is not None


BEGINS, HOLDS, SAID = 3, 2, 1
"""How directly a memory tells of a person: it begins with the name, or the person says it of
himself; it holds the name; the person only said it."""


def tells_of(
    stored: StoredMemory, text: str, names: Collection[str], persons: Collection[str] = ()
) -> int:
    """How directly a memory tells of the person of these names, folded, or ids; 0 for not at all.
    ``text``: folded, with whatever stands for its speaker in front."""
    judgment = fold(stored.memory.judgment)
    if any(judgment.startswith(name) and holds_name(judgment, name) for name in names):
        return BEGINS
    speaks = stored.memory.provenance.person in persons or fold(stored.memory.who) in names
    if speaks and is_first_person(judgment):
        return BEGINS
    text = judgment if speaks else text
    return HOLDS if any(holds_name(text, name) for name in names) else SAID * speaks


def holds_name(text: str, name: str) -> bool:
    """Whether a name stands in a text; one in Latin letters as a whole word."""
    if name.isascii():
        return re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text) is not None
    return name in text


def in_time(passage: Passage, spans: Sequence[TimeSpan], zone: tzinfo | None = None) -> bool:
    """Whether the passage's own day lies in one of the spans, or it tells of one. ``zone`` is the
    asker's; without one, days are those of the zone in which it was written."""
    if not spans:
        return False
    day = local_day(passage, zone)
    if any(span.start <= day <= span.end for span in spans):
        return True
    exact = [span for span in spans if not span.vague]
    if isinstance(passage, StoredMemory):
        days = told(passage.memory)
        if any(days.lying(span) for span in exact):
            return True
    text = shown_text(passage).casefold()
    return any(span.words.casefold() in text for span in exact)


def is_of(passage: Passage, asker: Collection[str]) -> bool:
    """True for what was said under an id of ``asker``'s."""
    return isinstance(passage, StoredMemory) and passage.memory.provenance.person in asker


def salience(passage: Passage, uses: int = 0) -> float:
    """-0.5 to 1: the mean of how strong it is (reinforced, important), and how often it was shown
    and found useful. What was never used is not held back for it: it may be new."""
    if not isinstance(passage, StoredMemory):
        return 0.0
    strength = (passage.memory.strength - _MIDDLE) / _MIDDLE
    access = 1 - float(0.5 ** (uses / _USES)) if uses > 0 else 0.0
    return (strength + access) / 2


def without_times(query: str, spans: Sequence[TimeSpan]) -> str:
    """What is asked apart from when."""
    parts = []
    end = 0
    for span in spans:
        parts.append(query[end : span.first])
        end = span.last
    return " ".join((*parts, query[end:]))
