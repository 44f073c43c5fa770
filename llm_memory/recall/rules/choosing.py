"""From candidates in their order to hits: limit, budget, and what is shown of each. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from ...catalogue.rules.closing import is_over
from ...catalogue.rules.event_day import noted_day
from ...catalogue.rules.passage_text import said_of, shown_text
from ...catalogue.rules.proposals import accepted_as, is_proposed
from ...catalogue.rules.timeline import is_digest
from ...models.data_models import NO_TIME, Memory, StoredMemory
from ...models.passages import Key, NoteChunk, Passage, moment_of, passage_id, place_name
from ...models.recall import DropReason, Hit
from ...text.normalising import one_line, preview
from ...text.overlap import pieces
from ...text.scripts import fold

_LEAST_PREVIEW: Final = 40
"""Characters."""
_END: Final = re.compile(r"[。！？!?；;\n]+\s*|\.\s+")
_MOST: Final = 20_000
"""Characters looked at: a table may be a megabyte."""
_MOST_STARTS: Final = 200


@dataclass(slots=True)
class Candidate:
    """A passage and what is known of it, from where it is found to where it is chosen.

    Attributes:
        relevance: 0 to 1, the probability that it answers; negative for what is not shown.
        score: What it is ordered by, the greater the sooner: the sum of the ``terms``.
        place: In the answer to a question for all of something; None for what comes behind.
        features: See ``order.FEATURES``.
        also, earlier, weak: See ``Hit``.
        dropped: Why it is no hit; None once it is chosen.
    """

    passage: Passage
    relevance: float = 0.0
    score: float = 0.0
    place: int | None = None
    features: Mapping[str, float] = field(default_factory=dict)
    terms: Mapping[str, float] = field(default_factory=dict)
    also: Sequence[Candidate] = ()
    earlier: bool = False
    weak: bool = False
    dropped: DropReason | None = DropReason.FLOOR

    @property
    def key(self) -> Key:
        return Key(place_name(self.passage), passage_id(self.passage))

    @property
    def memory(self) -> Memory | None:
        """None for a piece of a note."""
        return self.passage.memory if isinstance(self.passage, StoredMemory) else None


def choose(
    best: Sequence[Candidate],
    *,
    limit: int,
    token_budget: int,
    preview_chars: int,
    cost: Callable[[Hit], int],
    query: str = "",
    each_day: bool = False,
) -> list[Hit]:
    """The first of ``best`` as hits; each of the others is told why it is none. One that does not
    fit the budget is skipped and the next tried.

    Args:
        cost: Estimated tokens of what is told of a hit.
        query: What was asked: of a long piece of a note the part that answers it is shown.
        each_day: Where journals do not fit, all are told more briefly, down to a bound.
    """
    while True:
        hits, left = list[Hit](), token_budget
        for one in best:
            hit = as_hit(one, preview_chars, query) if len(hits) < limit else None
            tokens = cost(hit) if hit else 0
            if hit and tokens <= left:
                left -= tokens
                hits.append(hit)
                one.dropped = None
            else:
                one.dropped = DropReason.BUDGET if hit else DropReason.LIMIT
        cut = any(is_journal(one.passage) and one.dropped for one in best[:limit])
        if not (each_day and cut and preview_chars > _LEAST_PREVIEW):
            return hits
        preview_chars = max(preview_chars * 3 // 4, _LEAST_PREVIEW)


def is_journal(passage: Passage) -> bool:
    """True for the entry that sums a day up."""
    return isinstance(passage, StoredMemory) and is_digest(passage.memory)


def as_hit(candidate: Candidate, preview_chars: int, query: str = "") -> Hit:
    """What is shown of a candidate."""
    passage, moment = candidate.passage, moment_of(candidate.passage)
    hit = Hit(
        memory_id=passage_id(passage),
        pointer=passage.pointer,
        scope_name=place_name(passage),
        preview=_preview(passage, preview_chars, query),
        who="",
        day=None if moment == NO_TIME else moment.date(),
        relevance=min(max(candidate.relevance, 0.0), 1.0),
        also=tuple(as_hit(other, preview_chars) for other in candidate.also),
        earlier=candidate.earlier,
        weak=candidate.weak,
    )
    if isinstance(passage, NoteChunk):
        return replace(
            hit, headings=passage.headings, unvouched=passage.unvouched, closed=passage.settled
        )
    memory = passage.memory
    return replace(
        hit,
        who=memory.who,
        quoted=memory.quoted,
        person=memory.speaker,
        unvouched=not memory.provenance.vouched,
        closed=is_over(memory),
        undecided=is_proposed(memory),
        record=accepted_as(memory),
        day=noted_day(memory) or hit.day,
        journal=not memory.who and is_digest(memory),
    )


def _preview(passage: Passage, limit: int, query: str) -> str:
    if isinstance(passage, StoredMemory):
        return preview(shown_text(passage), limit)
    text = excerpt(shown_text(passage), query, limit)
    if not passage.reference:
        return text
    # The decision itself is in the headings.
    return " · ".join([passage.reference, *([text] if said_of(passage) else [])])


def excerpt(text: str, query: str, limit: int) -> str:
    """At most ``limit`` characters on one line, from the beginning of a sentence on: the first
    place that shows most of the query, or the beginning of the text where nothing of it does."""
    whole = one_line(text[:_MOST])
    if len(whole) <= limit:
        return preview(text, limit)
    wanted = pieces(query)
    starts = [0, *islice((end.end() for end in _END.finditer(text, 0, _MOST)), _MOST_STARTS)]
    shown = [one_line(text[start : start + 2 * limit])[: limit + 1] for start in starts]
    scores = [
        sum(w for piece, w in wanted.items() if piece in window) for window in map(fold, shown)
    ]
    first = scores.index(max(scores))
    while scores[first] and scores[first + 1 : first + 2] == [scores[first]]:
        first += 1
    return preview("…" + shown[first] if first else whole, limit)
