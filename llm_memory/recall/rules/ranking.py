"""From scored candidates to hits: floor, order, limit, budget."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ...catalogue.rules.closing import is_over
from ...catalogue.rules.event_day import noted_day
from ...catalogue.rules.passage_text import said_of, shown_text
from ...catalogue.rules.proposals import accepted_as, is_proposed
from ...catalogue.rules.timeline import is_digest
from ...models.data_models import UNDATED, StoredMemory, shown_day
from ...models.passages import Key, Passage, moment_of, passage_id, place_name, said_by
from ...models.recall import Considered, DropReason, Hit
from ...text.normalising import estimate_tokens, preview
from .excerpt import excerpt

_LEAST_PREVIEW = 40
"""Characters."""
TRACED = 30
"""Candidates that a trace tells of."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage and what is known of it.

    Attributes:
        relevance: 0 to 1, the probability that it answers; negative for what is not shown.
        score: What it is ordered by; the relevance where nothing else is known.
        lexical: See ``Considered``.
        coverage: The same.
        similarity: The same.
        factor: What time, speaker and salience make of its odds; it is in the score already.
        reranked: See ``Considered``.
        also: Others that say just the same, of other speakers: they are shown in the same line.
        earlier: Another candidate says something newer of the same thing.
        weak: It would not be shown unasked.
        place: In the answer to a question for all of something, from 0; None for what is only
            like the question, and comes behind.
        terms: What the score is the sum of.
    """

    passage: Passage
    relevance: float
    score: float | None = None
    lexical: float | None = None
    coverage: float = 0.0
    similarity: float | None = None
    factor: float = 1.0
    reranked: float | None = None
    also: tuple[Candidate, ...] = ()
    earlier: bool = False
    weak: bool = False
    place: int | None = None
    terms: Mapping[str, float] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """Place and id."""
        return Key(place_name(self.passage), passage_id(self.passage))

    @property
    def order(self) -> float:
        """The greater the sooner."""
        return self.relevance if self.score is None else self.score


class Sifted(NamedTuple):
    """Candidates in order: those at the floor and above, and the others."""

    best: Sequence[Candidate]
    below: Sequence[Candidate]


class Choice(NamedTuple):
    """The hits, best first; how many were dropped for which reason; and who was considered."""

    hits: tuple[Hit, ...]
    dropped: dict[DropReason, int]
    considered: tuple[Considered, ...]


def choose(
    sifted: Sifted,
    *,
    limit: int,
    token_budget: int,
    preview_chars: int,
    cost: Callable[[Hit], int] = lambda hit: hit.tokens,
    query: str = "",
    each_day: bool = False,
) -> Choice:
    """The best candidates as hits.

    In the order of ``sifted``. One that does not fit the budget is skipped and the next tried.

    Args:
        cost: Estimated tokens of what is told of a hit.
        query: What was asked: of a long piece of a note the part that answers it is shown.
        each_day: Where the journals do not fit, all are told more briefly rather than some of them
            not at all.
    """
    first = sifted.best[:limit] if each_day else ()
    journals = {one.key for one in first if is_journal(one.passage)}
    while True:
        hits, fates = _chosen(sifted, limit, token_budget, preview_chars, cost, query)
        chosen = {(hit.scope_name, hit.memory_id) for hit in hits}
        if journals <= chosen or preview_chars <= _LEAST_PREVIEW:
            break
        preview_chars = max(preview_chars * 3 // 4, _LEAST_PREVIEW)
    dropped = Counter(reason for _, reason in fates if reason is not None)
    considered = tuple(_considered(candidate, reason) for candidate, reason in fates[:TRACED])
    return Choice(tuple(hits), dict(dropped), considered)


def _chosen(
    sifted: Sifted,
    limit: int,
    left: int,
    preview_chars: int,
    cost: Callable[[Hit], int],
    query: str,
) -> tuple[list[Hit], list[tuple[Candidate, DropReason | None]]]:
    hits: list[Hit] = []
    fates: list[tuple[Candidate, DropReason | None]] = []
    for candidate in sifted.best:
        if len(hits) >= limit:
            fates.append((candidate, DropReason.LIMIT))
            continue
        hit = as_hit(candidate, preview_chars, query)
        hit = replace(hit, tokens=cost(hit))
        if hit.tokens > left:
            fates.append((candidate, DropReason.BUDGET))
            continue
        left -= hit.tokens
        hits.append(hit)
        fates.append((candidate, None))
        fates += [(other, DropReason.SAID) for other in candidate.also]
    return hits, fates + [(candidate, DropReason.FLOOR) for candidate in sifted.below]


def sift(candidates: Iterable[Candidate]) -> Sifted:
    """Best first; among equals the newer."""
    ordered: dict[Key, Candidate] = {}
    for candidate in sorted(candidates, key=_order):
        ordered.setdefault(candidate.key, candidate)
    above = [candidate for candidate in ordered.values() if candidate.relevance >= 0]
    return Sifted(above, [one for one in ordered.values() if one.relevance < 0])


def journals_last(sifted: Sifted, *, shown: bool) -> Sifted:
    """What sums a day up behind what was said; or not relevant, where it is not ``shown``."""
    journals = [one for one in sifted.best if is_journal(one.passage)]
    others = [one for one in sifted.best if not is_journal(one.passage)]
    if shown:
        return Sifted([*others, *journals], sifted.below)
    return Sifted(others, [*journals, *sifted.below])


def _considered(candidate: Candidate, dropped: DropReason | None) -> Considered:
    return Considered(
        scope_name=candidate.key.scope,
        memory_id=candidate.key.memory_id,
        lexical=candidate.lexical,
        coverage=candidate.coverage,
        similarity=candidate.similarity,
        score=candidate.order,
        dropped=dropped,
        reranked=candidate.reranked,
        terms=dict(candidate.terms),
    )


_QUOTATION_TOKENS = 12
"""Tokens for saying of a hit that it is a quotation and no instruction."""
_UNVOUCHED_TOKENS = 5
"""Tokens for saying of a hit that it is unvouched, settled or outdated."""


def _order(candidate: Candidate) -> tuple[float, float, float]:
    place = math.inf if candidate.place is None else candidate.place
    return place, -candidate.order, -moment_of(candidate.passage).timestamp()


def is_journal(passage: Passage) -> bool:
    """True for the entry that sums a day up."""
    return isinstance(passage, StoredMemory) and is_digest(passage.memory)


def as_hit(candidate: Candidate, preview_chars: int, query: str = "") -> Hit:
    """What is shown of a candidate."""
    passage, who = candidate.passage, said_by(candidate.passage)
    hit = Hit(
        memory_id=candidate.key.memory_id,
        pointer=passage.pointer,
        scope_name=candidate.key.scope,
        preview="",
        who=who,
        created_at=moment_of(passage),
        relevance=min(max(candidate.relevance, 0.0), 1.0),
        tokens=0,
        also=tuple(as_hit(other, preview_chars) for other in candidate.also),
        earlier=candidate.earlier,
        weak=candidate.weak,
        journal=not who and is_journal(passage),
    )
    if isinstance(passage, StoredMemory):
        memory = passage.memory
        hit = replace(
            hit,
            preview=preview(shown_text(passage), preview_chars),
            quoted=memory.quoted,
            person=memory.speaker,
            unvouched=not memory.provenance.vouched,
            closed=is_over(memory),
            undecided=is_proposed(memory),
            record=accepted_as(memory),
            told_day=noted_day(memory),
        )
    else:
        text = excerpt(shown_text(passage), query, preview_chars)
        if passage.reference:  # the decision itself is in the headings
            text = " · ".join([passage.reference] + ([text] if said_of(passage) else []))
        hit = replace(
            hit,
            preview=text,
            headings=passage.headings,
            unvouched=passage.unvouched,
            closed=passage.settled,
        )
    about = " ".join((who, *hit.headings))
    line = f"{hit.preview} {about} {hit.pointer} {shown_day(hit.created_at, UNDATED)}"
    return replace(
        hit,
        tokens=estimate_tokens(line)
        + (_QUOTATION_TOKENS if hit.quoted else _UNVOUCHED_TOKENS if hit.unvouched else 0)
        + (_UNVOUCHED_TOKENS if hit.closed or hit.earlier or hit.weak else 0)
        + (_UNVOUCHED_TOKENS if hit.undecided or hit.record else 0)
        + sum(estimate_tokens(one.who) for one in hit.also),
    )
