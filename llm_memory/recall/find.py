"""What may answer questions: asked of the index of words and of the embedder's at the same time,
or looked for in the texts themselves where neither can answer; with its score, and the decision
whether any of it answers. Whatever was named is checked against the filter here, and nowhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from heapq import nlargest
from itertools import chain, starmap
from math import inf
from typing import Final

from ..catalogue.catalogue import Catalogue, key_of
from ..catalogue.rules.passage_text import shown_text
from ..catalogue.rules.tasks import is_done, is_task
from ..catalogue.rules.timeline import is_digest
from ..errors import EmbeddingFailed, IndexUnavailable
from ..index.passages import Passages
from ..index.records import WordMatches, WordQuery, word_record
from ..index.semantic import Semantic
from ..index.word_index import WordIndex
from ..index.words import coverages
from ..models.data_models import StoredMemory, Topic
from ..models.passages import Key, Passage, moment_of, place_name
from ..models.recall import Arm, Trace
from ..models.scope import ScopeFilter
from ..models.vault_layout import topic_of
from ..runtime.cooperative import cooperative
from ..text.normalising import estimate_tokens
from ..text.overlap import content, shortlist
from ..text.scripts import fold, language_of
from .afterwards import UseCounts
from .embedder_trust import EmbedderTrust
from .patterns import says
from .question import Ask, asked_text
from .rules import order
from .rules.asked import only_asks
from .weights import RecallWeights
from .whole_answers import Whole, WholeAnswers

NEIGHBOURS: Final = 100
"""With fewer vectors the last of them seem to say nothing, and those left out do. Of words as many:
a date or a speaker lifts what is deep."""
SHORTLIST: Final = 200
"""Passages that a scan compares: those that share the most with the query."""
SCAN_LIMIT: Final = 10_000
"""The newest that a scan looks at, those of the reader's own scope first."""
_ARMS: Final = ((Arm.SCAN, Arm.DENSE), (Arm.LEXICAL, Arm.HYBRID))
"""By whether the index of words answered, and that of vectors."""


@dataclass(slots=True)
class Found:
    """What was found for a question.

    Attributes:
        whole: What answers all of it; then no text answers better than another.
        waiting: What the indexes of words and of vectors lacked when they were asked: what they
            have taken in by now, they may not have named.
        words: What the index of words answers; None where it could not, or was not asked.
        similarities: Of the embedder's neighbours to the question's ``vector``; the same.
        candidates: In no order; then what may be shown, best first, and the ``others``.
    """

    ask: Ask
    whole: Whole
    trace: Trace
    waiting: tuple[Sequence[Passage], Sequence[Passage]] = ((), ())
    words: WordMatches | None = None
    similarities: dict[Key, float] | None = None
    vector: Sequence[float] = ()
    candidates: list[order.Candidate] = field(default_factory=list)
    others: list[order.Candidate] = field(default_factory=list)


@dataclass(eq=False)
class CandidateFinder:
    """Asks the indexes, reads files and days, or scans."""

    _catalogue: Catalogue
    _passages: Passages
    _lexical: WordIndex
    _indexing: Semantic
    _trust: EmbedderTrust
    _uses: UseCounts
    _weights: RecallWeights
    scope_check_drops: int = 0
    """How many records the indexes have named that their filter should have kept back."""

    def __post_init__(self) -> None:
        self._whole = WholeAnswers(self._catalogue, self._passages, self._uses, self._naming)

    async def find(self, asks: Sequence[Ask]) -> list[Found]:
        """Of days alone by their dates, else what the indexes name, with what answers all of the
        question, ahead of the others. Never raises for a broken index or embedder."""
        found = []
        for ask, whole in zip(asks, await asyncio.gather(*map(self._whole.of, asks)), strict=True):
            trace = Trace(ask.request.scope_filter.names, Arm.DATES, talk=ask.talk.voices)
            found.append(Found(ask, whole, trace))
        asked = [one for one in found if one.whole.limit is None]
        waiting = self._lexical.newest(SCAN_LIMIT), self._indexing.newest(SCAN_LIMIT)
        for one in asked:
            one.waiting = waiting
        each = [(one.ask.words, one.ask.request.scope_filter, NEIGHBOURS) for one in asked]
        searches, near = starmap(self._lexical.search, each), map(self._near, asked)
        answers = await asyncio.gather(*searches, *near, return_exceptions=True)
        for at, answer in enumerate(answers):
            if isinstance(answer, WordMatches):
                asked[at].words = answer
            elif isinstance(answer, IndexUnavailable):
                asked[at].trace.notes.append(f"lexical: {answer}")
            elif answer is not None:
                raise answer
        for one in found:
            if one.whole.limit is None:
                await self._described(one)
            else:
                days = enumerate(self._visible(one.ask, map(key_of, one.whole.best)))
                one.candidates = [order.Candidate(day, place=at) for at, day in days]
            # What describes them holds the loop for some milliseconds, and so does what follows.
            await asyncio.sleep(0)
        return found

    def trusts(self, ask: Ask) -> bool:
        """True where the embedder is asked, too."""
        return self._trust.weight(ask.language) > 0

    def announce(self, query: str) -> None:
        """It will be asked in a moment, if no talk before it is asked with it."""
        text = asked_text(query)
        if text and self._trust.weight(language_of(text)) > 0:
            self._indexing.announce(text)

    async def _near(self, found: Found) -> None:
        """The neighbours of a question apart from what it has in common with all others: none where
        the embedder is not trusted, or it or its index cannot answer."""
        ask = found.ask
        if not self.trusts(ask):
            return
        common, seen = self._trust.common(ask.language), ask.request.scope_filter
        # Behind whom it points to.
        text = f"{ask.talk.pointed} {ask.request.query}".strip()
        try:
            vector, neighbours = await self._indexing.neighbours(text, seen, NEIGHBOURS, common)
        except (IndexUnavailable, EmbeddingFailed) as error:
            found.trace.notes.append(f"dense: {error}")
            return
        found.similarities = {one.key: one.similarity for one in neighbours.found}
        found.vector = vector.tolist()
        self.scope_check_drops += neighbours.dropped

    async def _described(self, found: Found) -> None:
        """Leaves as candidates what may answer, with its score."""
        ask, whole = found.ask, found.whole
        found.trace.arm = _ARMS[found.words is not None][found.similarities is not None]
        covered = await self._covered(found)
        if found.words is not None:
            whole_question = not (ask.request.topic or ask.request.on)
            found.trace.holding = found.words.holding * whole_question
        best = {key_of(one): at for at, one in enumerate(whole.best)}
        sure = dict.fromkeys([*best, *map(key_of, whole.beside)])
        visible = self._visible(ask, chain(covered, found.similarities or (), sure))
        features = self._features(found, covered)
        found.candidates = [order.Candidate(one) for one in visible if self._answers(ask, one)]
        for one in found.candidates:
            one.place, one.features = best.get(one.key, inf), features(one)
        self._decide(found)
        for one in found.candidates:
            if one.key in sure:
                one.relevance, one.weak = max(one.relevance, 0.0), False

    async def _covered(self, found: Found) -> dict[Key, float]:
        """How much of the question each speaks of, 0 to 1: of what the index of words names, and of
        what was looked through beside it, or in its place."""
        ask, seen = found.ask, found.ask.request.scope_filter
        others: Iterable[Passage]
        covered = {one.key: one.coverage for one in found.words.found} if found.words else {}
        if found.words is not None:
            # Of what was said on the days asked for, all may stand behind newer words alike.
            others = chain(self._whole.said_on(ask), found.waiting[0])
        elif found.similarities is not None:
            near = [one for key in found.similarities if (one := self._passages.get(key))]
            others = chain(near, found.waiting[1])
        else:
            others = self._passages.visible(seen)
        # It may be a hundred thousand: a copy is quick, looking through it is not.
        if passages := list(others):
            covered |= await asyncio.to_thread(self._scanned, ask.words, seen, passages, {*covered})
        return covered

    def _scanned(
        self,
        query: WordQuery,
        scope_filter: ScopeFilter,
        passages: Sequence[Passage],
        known: Collection[Key],
    ) -> dict[Key, float]:
        """How much of the query those speak of that share the most words with it, but for what is
        ``known``. Blocks."""

        def newest(one: Passage) -> tuple[bool, datetime]:
            return place_name(one) == scope_filter.scopes[0].name, moment_of(one)

        others = (one for one in cooperative(passages) if key_of(one) not in known)
        passages = [one for one in others if scope_filter.admits(place_name(one))]
        if len(passages) > SCAN_LIMIT:
            passages = nlargest(SCAN_LIMIT, passages, newest)
        folded = [self._passages.folded(passage) for passage in cooperative(passages)]
        best = [passages[place] for place in shortlist(query.text, folded, SHORTLIST)]
        shares = coverages(query, [word_record(passage) for passage in best])
        return dict(zip(map(key_of, best), shares, strict=True))

    def _visible(self, ask: Ask, keys: Iterable[Key]) -> list[Passage]:
        """Those of what was named that live, and that the filter admits."""
        admits = ask.request.scope_filter.admits
        named = [(key, self._passages.get(key)) for key in dict.fromkeys(keys)]
        seen = [one for key, one in named if admits(key.scope if one is None else place_name(one))]
        self.scope_check_drops += len(named) - len(seen)
        return [one for one in seen if one is not None]

    def _answers(self, ask: Ask, passage: Passage) -> bool:
        """False for what is no answer, whatever it says: what only repeats others; what was asked;
        a task done, where those left are asked for, or the other way round; what is of another
        topic or day than was asked for beside the query."""
        request, whole = ask.request, ask.whole
        unread = request.in_talk and self._passages.is_unread(passage)
        repeats = isinstance(passage, StoredMemory) and is_digest(passage.memory)
        if repeats or (unread and only_asks(shown_text(passage))):
            return False
        done = whole.done if whole and whole.topic is Topic.TASKS else None
        if done is not None and is_task(passage) and is_done(passage) != done:
            return False
        topic = topic_of(passage.path) if isinstance(passage, StoredMemory) else None
        in_time = not request.on or order.in_time(passage, ask.times, ask.now.tzinfo)
        return in_time and request.topic in (None, topic)

    def _features(
        self, found: Found, covered: Mapping[Key, float]
    ) -> Callable[[order.Candidate], dict[str, float]]:
        """What is known of each, as numbers: see ``order.FEATURES``."""
        ask, near = found.ask, found.similarities or {}
        question, zone, now = fold(ask.text), ask.now.tzinfo, ask.now.timestamp()
        named = found.words.found if found.words else ()
        scores = {one.key: (one.score, one.text) for one in named}
        far = min(near.values(), default=0.0)
        # Of texts that say the same the last digits differ from run to run.
        alike = sorted((round(one, 4) for one in near.values()), reverse=True)
        places = {one: place for place, one in reversed([*enumerate(alike, start=1)])}
        mean, deviation = self._trust.chance(ask.language, found.vector)
        low, slope = self._weights.unknown

        def features(candidate: order.Candidate) -> dict[str, float]:
            key, one, nearness = candidate.key, candidate.passage, 0.0
            share = covered.get(key, 0.0)
            words, text = scores.get(key, (0.0, 0.0) if found.words else (share, share))
            if near and key not in near and self._indexing.lacks(key):
                nearness = low + slope * share
            elif near and deviation > 0:
                nearness = max((near.get(key, far) - mean) / deviation, 0.0)
            return {
                "near": nearness,
                "nearest": 1 / places[round(near[key], 4)] if key in near else 0.0,
                "covered": share,
                "words": words,
                "text": text,
                "verbatim": float(question in self._passages.folded(one)),
                "time": float(order.in_time(one, ask.times, zone)),
                "speaker": float(order.is_of(one, ask.asker)),
                "recent": order.recency(now - moment_of(one).timestamp()),
                "salient": order.salience(one, self._uses.of(one)),
                "stated": order.stated(one, is_unread=self._passages.is_unread(one)),
            }

        return features

    def _decide(self, found: Found) -> None:
        """Scores, and whether any of them answers."""
        ask, trace, candidates = found.ask, found.trace, found.candidates
        folded, carried = self._passages.folded, ask.talk.carried
        # After a question that named somebody, 来了没 asks for more of what was spoken of.
        of_name = (
            ask.request.in_talk
            and not carried
            and order.asks_of_name(ask.words, ask.request.query, candidates, folded)
        )
        length = min(estimate_tokens(ask.subject) / order.LONG, 1.0)
        of_question = {
            "asks": float(ask.asks and not of_name),
            # Where the talk before is what is asked for, the message's own length says nothing.
            "length": 1.0 if carried else length,
            "probe": self._weights.probe(self._trust.model, found.vector),
        }
        how = content(ask.text) if says("how", fold(ask.text)) else frozenset[str]()
        trace.chance, trace.values = order.decide(
            self._weights,
            self._trust.weight(ask.language) if found.similarities else 0.0,
            of_question,
            candidates,
            is_long=length == 1 and not carried,
            in_talk=ask.request.in_talk,
            how=how,
        )
        for one in candidates:
            one.weak = one.weak and not order.says_all(shown_text(one.passage), ask.request.query)
        order.told_first(ask.words, ask.text, candidates, folded)

    async def _naming(self, ask: Ask, names: Iterable[str]) -> list[StoredMemory]:
        """What the index of words finds for a name, of its speaker or in a text; nothing where it
        cannot answer, and the question is answered as any other."""
        query, seen = WordQuery(text := " ".join(names), text), ask.request.scope_filter
        try:
            matches = await self._lexical.search(query, seen, NEIGHBOURS)
        except IndexUnavailable:
            return []
        visible = self._visible(ask, (one.key for one in matches.found))
        return [one for one in visible if isinstance(one, StoredMemory)]
