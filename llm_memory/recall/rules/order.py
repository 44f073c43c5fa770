"""From a question's candidates to hits: each in numbers that mean the same with every embedder,
their order, whether any of them answers, and what is shown of those that do. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from heapq import nlargest
from itertools import islice, pairwise
from typing import Final

from ...catalogue.rules import event_day
from ...catalogue.rules.closing import is_over
from ...catalogue.rules.passage_text import said_of, shown_text
from ...catalogue.rules.proposals import accepted_as, is_proposed
from ...catalogue.rules.timeline import local_day
from ...index.records import WordQuery
from ...models.data_models import NO_TIME, Memory, Source, StoredMemory
from ...models.passages import Key, NoteChunk, Passage, moment_of, passage_id, place_name
from ...models.recall import DropReason, Hit
from ...text.dates.spans import TimeSpan
from ...text.normalising import estimate_tokens, one_line, preview
from ...text.overlap import content, holds, pieces
from ...text.scripts import fold
from ...text.stated import SENTENCE, is_yes_or_no
from ..patterns import says
from ..weights import RecallWeights

FEATURES: Final = (
    "near",  # its similarity, in standard deviations above chance; 0 without an embedder
    "nearest",  # 1 / its place among the embedder's neighbours
    "covered",  # the share of the question that it speaks of, 0 to 1
    "words",  # its score in the index of words, 0 to 1, of which 1 is the best of the answer
    "text",  # the same of its text alone, whatever stands around it
    "verbatim",  # 1 where it holds the whole question word for word
    "time",  # 1 where it lies in a time that the question names, or tells of it
    "speaker",  # 1 for words of who asks of themselves
    "recent",
    "salient",
    "stated",
)
"""What is known of a candidate."""
BESIDE: Final = ("time", "speaker", "recent", "salient")
"""What moves a candidate, and does not tell whether it answers: who said it when."""
LONG: Final = 30
"""Tokens from which on a text is long."""
BEYOND_CHANCE: Final = 2.5
"""Standard deviations: the nearest of a hundred memories is so near by chance alone."""
_SOONER: Final = 0.45
"""Of the floor."""
_USES: Final = 8.0
"""After so many half of what they can give is given."""
_AS_WELL: Final = 1.0
"""Log-odds: what tells of the person may be so much behind."""
_BEHIND: Final = 0.01
_FIRST: Final = 20
"""Of the best: no more are ever shown."""
_SEVERAL: Final = 3
"""Memories that are alike in what they say of a question."""
_LONGEST_NAME: Final = 3
"""Han characters of the name of somebody who has said nothing yet."""
BEGINS, HOLDS, SAID = 3, 2, 1
"""How directly a memory tells of a person: it begins with the name, or the person says it of
himself; it holds the name; the person only said it."""
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
        place: In the answer to a question for all of something; all others come behind.
        features: See ``FEATURES``.
        also, earlier, weak: See ``Hit``.
        dropped: Why it is no hit; None once it is chosen.
    """

    passage: Passage
    key: Key = field(init=False)
    relevance: float = 0.0
    score: float = 0.0
    place: float = math.inf
    features: Mapping[str, float] = field(default_factory=dict)
    terms: Mapping[str, float] = field(default_factory=dict)
    also: Sequence[Candidate] = ()
    earlier: bool = False
    weak: bool = False
    dropped: DropReason | None = DropReason.FLOOR

    def __post_init__(self) -> None:
        self.key = Key(place_name(self.passage), passage_id(self.passage))

    @property
    def memory(self) -> Memory | None:
        """None for a piece of a note."""
        return self.passage.memory if isinstance(self.passage, StoredMemory) else None


def tells_of(
    stored: StoredMemory, text: str, names: Collection[str], persons: Collection[str] = ()
) -> int:
    """How directly a memory tells of the person of these names, folded, or ids; 0 for not at all.
    ``text``: folded, with whatever stands for its speaker in front."""
    judgment = fold(stored.memory.judgment)
    speaks = stored.memory.provenance.person in persons or fold(stored.memory.who) in names
    named = any(judgment.startswith(name) and holds_name(judgment, name) for name in names)
    if named or (speaks and says("first_person", judgment)):
        return BEGINS
    text = judgment if speaks else text
    return HOLDS if any(holds_name(text, name) for name in names) else SAID * speaks


def holds_name(text: str, name: str) -> bool:
    """Whether a name stands in a text; one in Latin letters as a whole word."""
    if name not in text or not name.isascii():
        return name in text
    return re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text) is not None


def in_time(passage: Passage, spans: Sequence[TimeSpan], zone: tzinfo | None = None) -> bool:
    """Whether the passage's own day lies in one of the spans, or it tells of one. ``zone`` is the
    asker's; without one, days are those of the zone in which it was written."""
    if not spans:
        return False
    day, text = local_day(passage, zone), shown_text(passage).casefold()
    days = event_day.told(passage.memory) if isinstance(passage, StoredMemory) else None
    return any(
        span.start <= day <= span.end
        or (not span.vague and (span.words.casefold() in text or (days and days.lying(span))))
        for span in spans
    )


def is_of(passage: Passage, asker: Collection[str]) -> bool:
    """Whether it was said under one of these ids."""
    return isinstance(passage, StoredMemory) and passage.memory.provenance.person in asker


def salience(passage: Passage, uses: int = 0) -> float:
    """-0.5 to 1: the mean of how strong it is (reinforced, important), and how often it was shown
    and found useful. What was never used is not held back for it: it may be new."""
    if not isinstance(passage, StoredMemory):
        return 0.0
    strength = (passage.memory.strength - 50) / 50
    access = 1 - float(0.5 ** (uses / _USES)) if uses > 0 else 0.0
    return (strength + access) / 2


def recency(seconds: float) -> float:
    """``1 / (1 + ln(1 + days))``: 1 for now, 0.5 for 1.7 days, 0.22 for a month."""
    return 1.0 / (1.0 + math.log1p(max(seconds / 86_400, 0.0)))


def is_as_said(passage: Passage, *, is_unread: bool) -> bool:
    """Whether it stands as it was said or written, and nobody made a memory of it."""
    memory = passage.memory if isinstance(passage, StoredMemory) else None
    return is_unread or memory is None or memory.provenance.source is Source.IMPORT


def stated(passage: Passage, *, is_unread: bool) -> float:
    """How much a passage states without what it asks, 0 to 1, of which 1 is ``LONG`` tokens or
    more. A memory states: only what stands as it was said may say nothing."""
    if not is_as_said(passage, is_unread=is_unread):
        return 1.0
    # They hold as many tokens at least.
    sentences = SENTENCE.findall(shown_text(passage)[: 4 * LONG])
    return min(sum(estimate_tokens(one) for one in sentences if one[-1] not in "?？"), LONG) / LONG


def decide(
    weights: RecallWeights,
    trust: float,
    of_question: Mapping[str, float],
    candidates: Sequence[Candidate],
    *,
    is_long: bool = False,
    in_talk: bool = False,
    how: frozenset[str] = frozenset(),
) -> tuple[float, dict[str, float]]:
    """Gives each candidate its score, and a relevance that is negative for what is not shown:
    unasked what is weak, to who searches what has nothing to do with the question. Returns the
    probability that anything answers, and what that was decided by.

    Args:
        trust: How far the embedder is trusted, 0 to 1.
        of_question: ``asks``, 1 for a question or a request by its form; its ``length``, 0 to 1;
            and ``probe``, how much its vector is like that of a question, in log-odds.
        is_long: More is said than one question.
        in_talk: Nobody has searched.
        how: What is asked how it is done: who asks so is told sooner what speaks of doing it,
            though each says it in words of his own, 晚饭怎么做, 做饭少放盐.
    """
    model = (weights.order_of_long if is_long else weights.order).at(trust)
    for one in candidates:
        one.terms = terms(model.weights, one.features)
        one.score = sum(one.terms.values())
    ordered = sorted(candidates, key=lambda one: -one.score)
    values = dict(of_question)
    for name in ("near", "covered"):
        values[name] = max((one.features[name] for one in ordered), default=0.0)
    values["covered_by_first"] = ordered[0].features["covered"] if ordered else 0.0
    chance = weights.chance(trust, values) if ordered else 0.0
    for one in ordered:
        share = math.exp(one.score - ordered[0].score)
        floor = weights.floor * (_SOONER if speaks_of(shown_text(one.passage), how) else 1.0)
        far = floor > 0 and share < math.exp(-weights.within)
        one.weak = chance < floor or far
        is_near = one.features["near"] >= BEYOND_CHANCE
        related = one.features["covered"] > 0 or is_near or floor <= 0
        one.relevance = chance * share - (one.weak if in_talk else not related)
    return chance, values


def terms(weights: Mapping[str, float], features: Mapping[str, float]) -> dict[str, float]:
    """What a score is the sum of."""
    return {name: weights.get(name, 0.0) * features[name] for name in FEATURES}


def asks_of_name(
    words: WordQuery,
    query: str,
    candidates: Sequence[Candidate],
    folded: Callable[[Passage], str],
) -> bool:
    """Whether somebody is there, 小芳来了没, and the like: several memories hold the name, and none
    of them more of the question. ``folded``: what a passage says, folded."""
    if not is_yes_or_no(query):
        return False
    most = max((one.features["covered"] for one in candidates), default=0.0)
    alike = [one.passage for one in candidates if one.features["covered"] == most]
    shared = frozenset.intersection(content(fold(query)), *(content(folded(one)) for one in alike))
    latin = {one for one in shared if len(one) > 1}
    wide = "".join(shared - latin)
    names = [*latin, *(re.findall(f"[{wide}]+", fold(query)) if wide else ())]
    who = {fold(one.memory.who) for one in alike if isinstance(one, StoredMemory)}
    known = who.union(*words.persons, latin)
    is_name = len(names) == 1 and (len(names[0]) <= _LONGEST_NAME or names[0] in known)
    return is_name and len(alike) >= _SEVERAL


def told_first(
    words: WordQuery,
    text: str,
    candidates: Sequence[Candidate],
    folded: Callable[[Passage], str],
) -> None:
    """Puts what a person whom the question names only said behind what tells of the person about as
    well. ``folded``: what a passage says, folded."""
    stored = [p for one in candidates if isinstance(p := one.passage, StoredMemory)]
    asked, own = fold(text), {*map(fold, words.asker)}
    who = {fold(one.memory.who) for one in stored} - own
    others = [*({name} for name in who if len(name) > 1), *map(set, words.persons)]
    people = [own, *(some for some in others if any(holds_name(asked, name) for name in some))]
    people = [some for some in people if some]
    said: list[Candidate] = []
    for one in nlargest(_FIRST, candidates if people else (), lambda one: one.score):
        passage = one.passage
        if not isinstance(passage, StoredMemory):
            continue
        how = max(tells_of(passage, folded(passage), some) for some in people)
        if how > SAID:
            for other in said:
                if other.score - other.terms["speaker"] - _AS_WELL < one.score:
                    other.score = one.score - _BEHIND
            return
        said += [one] * (how == SAID)


def says_all(text: str, query: str) -> bool:
    """True for what holds every word of a question as it stands."""
    words = fold(query).split()
    return bool(words) and all(holds(fold(text), word) for word in words)


def speaks_of(text: str, asked: frozenset[str]) -> bool:
    """True for a text with two neighbouring characters, or a longer word, of what is asked."""
    if not asked:
        return False
    shared, neighbours = content(text) & asked, pairwise(fold(text))
    return any({*two} <= shared for two in neighbours) or any(len(one) > 3 for one in shared)


def choose(
    best: Sequence[Candidate],
    *,
    limit: int,
    token_budget: int,
    preview_chars: int,
    cost: Callable[[Hit], int],
    query: str = "",
    briefly: bool = False,
) -> list[Hit]:
    """The first of ``best`` as hits; each of the others is told why it is none. One that does not
    fit the budget is skipped and the next tried.

    Args:
        cost: Estimated tokens of what is told of a hit.
        query: What was asked: of a long piece of a note the part that answers it is shown.
        briefly: Where not all of ``limit`` fit, they are told more briefly, down to a bound.
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
        cut = any(one.dropped for one in best[:limit])
        if not (briefly and cut and preview_chars > _LEAST_PREVIEW):
            return hits
        preview_chars = max(preview_chars * 3 // 4, _LEAST_PREVIEW)


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
        day=event_day.noted_day(memory) or hit.day,
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
