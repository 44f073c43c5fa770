"""What may answer a question: asked of the index of words and of the embedder's at the same time,
or looked for in the texts themselves where neither can answer; in the fitted order, with the
decision whether any of it answers. Whatever was named is checked against the filter here, and
nowhere else.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from ..catalogue.catalogue import Catalogue, key_of
from ..catalogue.rules.passage_text import shown_text
from ..catalogue.rules.tasks import is_done, is_task
from ..catalogue.rules.timeline import repeats_entries
from ..errors import EmbeddingFailed, IndexUnavailable
from ..index.indexing_service import IndexingService
from ..index.lexical_port import LexicalMatches, LexicalQuery
from ..index.lexical_records import lexical_record
from ..index.lexical_scan import LexicalScan
from ..index.lexical_service import LexicalService
from ..index.passages import Passages
from ..models.data_models import StoredMemory
from ..models.passages import Key, Passage, moment_of, place_name, said_by
from ..models.recall import Arm, DropReason, Trace
from ..models.scope import ScopeFilter
from ..models.vault_layout import topic_of
from ..runtime.cooperative import cooperative
from ..text.normalising import estimate_tokens
from ..text.overlap import content, holds, shortlist
from ..text.scripts import fold
from ..text.stated import is_yes_or_no
from ..text.traditional import simplified
from .embedder_trust import EmbedderTrust
from .question import Ask
from .rules.asked import only_asks
from .rules.choosing import Candidate
from .rules.order import LONG, Message, decide, recency, stated
from .rules.salience import SAID, holds_name, in_time, is_of, salience, tells_of
from .rules.talk import stands_alone
from .use_counts import UseCounts
from .weights import RecallWeights
from .whole_answers import WholeAnswers, is_of_days

NEIGHBOURS: Final = 100
"""Of vectors: with fewer the last of them seem to say nothing, and those left out do."""
DEEP: Final = 200
"""Of words more are asked for, which costs nothing: a date or a speaker lifts what is deep."""
SHORTLIST: Final = 200
"""Passages that a scan compares: those that share the most with the query."""
SCAN_LIMIT: Final = 5000
"""The newest that a scan looks at: of the reader's own scope, and of the others."""
_AS_WELL: Final = 1.0
"""Log-odds: what tells of the person may be so much behind."""
_BEHIND: Final = 0.01
_HOW: Final = re.compile(
    "(?:怎么|怎样|如何|咋)(?![了办样又还总老没不会能这那]|回事)|"
    r"\bhow (?:do|should|shall|can|would|to)\b"
)
_SEVERAL: Final = 3
"""Memories that are alike in what they say of a question."""
_LONGEST_NAME: Final = 3
"""Han characters of the name of somebody who has said nothing yet."""
_SOONER: Final = 0.45
"""Of the floor."""


@dataclass(slots=True)
class Heard:
    """What the indexes answer, by key: None for one that was not asked, or could not answer.

    Attributes:
        similarities: To the question's ``vector``.
        unknown: What the embedder's index may not know yet: of what the words found, or of all
            where they found nothing; then ``waiting`` are those passages.
        notes: What could not answer, and why.
    """

    words: LexicalMatches | None = None
    similarities: dict[Key, float] | None = None
    vector: Sequence[float] = ()
    unknown: set[Key] = field(default_factory=set)
    waiting: Sequence[Passage] = ()
    dropped: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def arm(self) -> Arm:
        """Which of them answered."""
        if self.words is None:
            return Arm.SCAN if self.similarities is None else Arm.DENSE
        return Arm.LEXICAL if self.similarities is None else Arm.HYBRID


@dataclass(slots=True)
class Found:
    """What was found for a question.

    Attributes:
        candidates: In no order; then what may be shown, best first, and the ``others``.
        limit: How many of them are the answer.
        whole: All of a topic, a person or days is asked for: no text answers better than another.
    """

    candidates: list[Candidate]
    limit: int
    trace: Trace
    whole: bool = False
    others: list[Candidate] = field(default_factory=list)


@dataclass(eq=False)
class CandidateFinder:
    """Asks the indexes, reads files and days, or scans. ``_least``: the probability at which
    something is said, where the owner has set one."""

    _catalogue: Catalogue
    _passages: Passages
    _lexical: LexicalService
    _indexing: IndexingService
    _scanner: LexicalScan
    _trust: EmbedderTrust
    _uses: UseCounts
    _weights: RecallWeights
    _least: float | None
    scope_check_drops: int = 0
    """How many records the indexes have named that their filter should have kept back."""

    def __post_init__(self) -> None:
        self._whole = WholeAnswers(self._catalogue, self._passages, self._uses, self._naming)
        self._floor = self._weights.floor if self._least is None else self._least

    async def find(self, ask: Ask) -> Found:
        """Of days alone by their dates, else what the indexes name, with what answers all of the
        question, ahead of the others, and what was said on the days asked for. Never raises for a
        broken index or embedder."""
        whole = await self._whole.of(ask)
        trace = Trace(scopes=ask.request.scope_filter.names, talk=ask.used, arm=Arm.DATES)
        if whole.limit is not None:
            found = Found([], whole.limit, trace, whole=True)
            days = {key_of(one): one for one in whole.best}
            for at, one in enumerate(self._visible(ask, days, found)):
                found.candidates.append(Candidate(one, place=at))
            return found
        heard = await self._ask(ask, trace.notes)
        trace.arm, trace.dropped[DropReason.SCOPE] = heard.arm, heard.dropped
        found = Found([], ask.request.limit, trace, whole=bool(whole.best))
        named, covered = await self._named(ask, heard)
        # They were waited for: what was forgotten or moved meanwhile is not shown.
        best, beside = ({key_of(one): one for one in some} for some in (whole.best, whole.beside))
        asked = {key: one for key, one in (best | beside).items() if self._passages.get(key) is one}
        places = {key: at for at, key in enumerate(best)}
        visible = self._visible(ask, named | asked, found)
        answering = [one for one in visible if self._answers(ask, one, done=whole.done)]
        found.candidates = self._read(ask, heard, answering, covered)
        self._decide(ask, heard, found)
        for candidate in found.candidates:
            candidate.place = places.get(candidate.key)
            if candidate.key in asked:
                candidate.relevance, candidate.weak = max(candidate.relevance, 0.0), False
        if whole.topic:
            trace.topics = (whole.topic.value,)
        if heard.words and not (ask.request.topic or ask.request.on):
            trace.holding = heard.words.holding
        return found

    async def _ask(self, ask: Ask, notes: list[str]) -> Heard:
        """Both at the same time; the embedder only where it is trusted, or nothing else answers."""
        heard, trusted = Heard(notes=notes), self.trusts(ask)
        # Before the index is asked: what is written into it meanwhile would be in neither.
        with self._indexing.lag() as lag:
            heard.words, _ = await asyncio.gather(
                self.words(ask.words, ask.request.scope_filter, heard.notes),
                self.near(ask, heard) if trusted else asyncio.sleep(0),
            )
            if heard.words is None and not trusted:
                await self.near(ask, heard)
        if heard.words is not None:
            heard.dropped += heard.words.dropped
            heard.unknown = {one.key for one in heard.words.found if one.key in lag}
        elif heard.similarities is not None:
            heard.waiting = lag.living()
            heard.unknown = set(map(key_of, heard.waiting))
        return heard

    def trusts(self, ask: Ask) -> bool:
        """True where the embedder is asked beside the words."""
        return self._trust.found.weight(ask.language) > 0

    async def words(
        self, query: LexicalQuery, scope_filter: ScopeFilter, notes: list[str]
    ) -> LexicalMatches | None:
        """None where their index cannot answer; ``notes`` says why."""
        try:
            return await self._lexical.search(query, scope_filter, DEEP)
        except IndexUnavailable as error:
            notes.append(f"lexical: {error}")
            return None

    async def near(self, ask: Ask, heard: Heard) -> None:
        """The neighbours of a question apart from what it has in common with all others: none where
        the embedder or its index cannot answer."""
        common, seen = self._trust.found.common(ask.language), ask.request.scope_filter
        try:
            vector, answer = await self._indexing.neighbours(ask.embedded, seen, NEIGHBOURS, common)
        except (IndexUnavailable, EmbeddingFailed) as error:
            heard.notes.append(f"dense: {error}")
            return
        heard.similarities = {one.key: one.similarity for one in answer.found}
        heard.vector = vector.tolist()
        heard.dropped += answer.dropped

    async def _named(
        self, ask: Ask, heard: Heard
    ) -> tuple[dict[Key, Passage | None], dict[Key, float]]:
        """What the indexes name, and what was looked through beside them; and how much of the
        question each speaks of, 0 to 1."""
        matches = heard.words.found if heard.words else ()
        covered = {one.key: one.coverage for one in matches}
        named = {key: self._passages.get(key) for key in (*covered, *(heard.similarities or ()))}
        others: Iterable[Passage] = ()
        if heard.arm is Arm.SCAN:
            others = self._passages.visible(ask.request.scope_filter)
        elif heard.words is None:
            others = [*(one for one in named.values() if one), *heard.waiting]
        elif ask.times:
            # Of what was said on the days asked for, all may stand behind newer words alike.
            others = [one for one in self._whole.said_on(ask) if key_of(one) not in covered]
        if heard.words is None or ask.times:
            for passage, share in await self._scan(ask.words, ask.request.scope_filter, others):
                named[key_of(passage)] = passage
                covered[key_of(passage)] = share
        return named, covered

    def _visible(
        self, ask: Ask, named: Mapping[Key, Passage | None], found: Found
    ) -> Iterator[Passage]:
        """Those of what was named that live, and that the filter admits."""
        for key, passage in named.items():
            seen = (key.scope, *([] if passage is None else [place_name(passage)]))
            if not all(map(ask.request.scope_filter.admits, seen)):
                found.trace.dropped[DropReason.SCOPE] += 1
            elif passage is None:
                found.trace.dropped[DropReason.GONE] += 1
            else:
                yield passage
        self.scope_check_drops += found.trace.dropped[DropReason.SCOPE]

    def _answers(self, ask: Ask, passage: Passage, *, done: bool | None) -> bool:
        """False for what is no answer, whatever it says. What a digest repeats answers by itself,
        and says more; what was asked answers nothing; where tasks are asked for, what is done is no
        answer to what is left; and what is of no topic or day that was asked for beside the
        query."""
        topic, on = ask.request.topic, ask.request.on
        unread = ask.request.in_talk and self._passages.is_unread(passage)
        if repeats_entries(passage) or (unread and only_asks(shown_text(passage))):
            return False
        if done is not None and is_task(passage) and is_done(passage) != done:
            return False
        if topic is not None and not (
            isinstance(passage, StoredMemory) and topic_of(passage.path) is topic
        ):
            return False
        return not on or in_time(passage, ask.times, ask.now.tzinfo)

    def _read(
        self, ask: Ask, heard: Heard, passages: Sequence[Passage], covered: Mapping[Key, float]
    ) -> list[Candidate]:
        """What is known of each, as numbers."""
        asked_at, question, zone = ask.now.timestamp(), fold(ask.text), ask.now.tzinfo
        matches = heard.words.found if heard.words else ()
        words = {one.key: one.score for one in matches}
        scores = covered if heard.words is None else words
        near, far = heard.similarities or {}, min((heard.similarities or {}).values(), default=0.0)
        mean, deviation = self._trust.found.chance(ask.language, heard.vector)
        low, slope = self._weights.unknown
        candidates = []
        for one in passages:
            key, nearness = key_of(one), 0.0
            if near and key in heard.unknown and key not in near:
                nearness = low + slope * covered.get(key, 0.0)
            elif near and deviation > 0:
                nearness = max((near.get(key, far) - mean) / deviation, 0.0)
            features = {
                "near": nearness,
                "covered": covered.get(key, 0.0),
                "words": scores.get(key, 0.0),
                "verbatim": float(question in self._passages.folded(one)),
                "time": float(in_time(one, ask.times, zone)),
                "speaker": float(is_of(one, ask.asker)),
                "recent": recency((asked_at - moment_of(one).timestamp()) / 86_400),
                "salient": salience(one, self._uses.of(one)),
                "stated": stated(shown_text(one)),
            }
            candidates.append(
                Candidate(one, words=words.get(key), similarity=near.get(key), features=features)
            )
        return candidates

    def _decide(self, ask: Ask, heard: Heard, found: Found) -> None:
        """Scores, and whether any of them answers."""
        trust = self._trust.found.weight(ask.language) if heard.similarities else 0.0
        probe = self._weights.probes.get(self._trust.model)
        message = Message(
            # Where the talk before is what is asked for, the message's own length says nothing.
            tokens=LONG if ask.used.carried else estimate_tokens(ask.subject),
            asks=float(ask.asks and not self._asks_of_name(ask, found.candidates)),
            probe=probe.log_odds(heard.vector) if probe else 0.0,
        )
        how = content(ask.text) if _HOW.search(simplified(fold(ask.text))) else frozenset[str]()

        def floor_of(one: Candidate) -> float:
            """Who asks how to do a thing is told sooner what speaks of doing it, though each says
            it in words of his own: 晚饭怎么做, 做饭少放盐."""
            return self._floor * (_SOONER if _speaks_of(shown_text(one.passage), how) else 1.0)

        found.trace.chance, found.trace.values = decide(
            self._weights,
            trust,
            message,
            found.candidates,
            places=ask.request.limit,
            in_talk=ask.request.in_talk,
            floor_of=floor_of,
        )
        found.trace.dense_weight = trust / (1 + trust) if heard.arm is Arm.HYBRID else 0.0
        for one in found.candidates:
            if one.weak and _says_all(one.passage, ask.request.query):
                one.weak = False
        self._told_first(ask, found.candidates)

    def _asks_of_name(self, ask: Ask, candidates: Sequence[Candidate]) -> bool:
        """Whether somebody is there, 小芳来了没, and the like: several memories hold the name, and
        none of them more of the question."""
        if ask.used.carried or not ask.request.in_talk or not is_yes_or_no(ask.request.query):
            return False
        most = max((one.features["covered"] for one in candidates), default=0.0)
        alike = [one for one in candidates if one.features["covered"] == most]
        if len(alike) < _SEVERAL:
            return False
        asked = fold(ask.request.query)
        texts = (content(self._passages.folded(one.passage)) for one in alike)
        shared = frozenset.intersection(content(asked), *texts)
        words = [one for one in shared if len(one) > 1]
        wide = "".join(shared.difference(words))
        names = re.findall(f"[{wide}]+", asked) if wide else []
        known = {fold(said_by(one.passage)) for one in alike}.union(*ask.words.persons)
        return len(names) + len(words) == 1 and (
            not names or len(names[0]) <= _LONGEST_NAME or names[0] in known
        )

    def _told_first(self, ask: Ask, candidates: Sequence[Candidate]) -> None:
        """What a person whom the question names only said comes behind what tells of the person
        about as well."""
        stored = [p for one in candidates if isinstance(p := one.passage, StoredMemory)]
        asked, own = fold(ask.text), {*map(fold, ask.words.asker)}
        who = {fold(one.memory.who) for one in stored} - own
        people = [*({name} for name in who if len(name) > 1), *map(set, ask.words.persons)]
        people = [own, *(some for some in people if any(holds_name(asked, name) for name in some))]
        told = {
            key_of(one): max(tells_of(one, self._passages.folded(one), some) for some in people)
            for one in stored
        }
        tells = [(one, told.get(one.key, 0)) for one in candidates]
        best = max((one.score for one, how in tells if how > SAID), default=-math.inf)
        for one, how in tells:
            well = one.score - one.terms["speaker"] - _AS_WELL
            if how == SAID and well < best < one.score + _BEHIND:
                one.score = best - _BEHIND

    async def _naming(self, ask: Ask, names: Iterable[str]) -> list[StoredMemory]:
        """What the index of words finds for a name, of its speaker or in a text."""
        query, seen = LexicalQuery(text := " ".join(names), text), ask.request.scope_filter
        found = await self.words(query, seen, [])
        if found is not None:
            passages = [self._passages.get(m.key) for m in found.found if seen.admits(m.key.scope)]
        else:
            passages = [
                one for one, _ in await self._scan(query, seen, self._passages.visible(seen))
            ]
        return [one for one in passages if isinstance(one, StoredMemory)]

    async def _scan(
        self, query: LexicalQuery, scope_filter: ScopeFilter, passages: Iterable[Passage]
    ) -> list[tuple[Passage, float]]:
        """The visible passages that share the most words with the query, each with how much of it
        it speaks of, 0 to 1."""
        # All that is visible may be a hundred thousand: a copy is quick, looking through it is not.
        return await asyncio.to_thread(self._scanned, query, scope_filter, list(passages))

    def _scanned(
        self, query: LexicalQuery, scope_filter: ScopeFilter, passages: list[Passage]
    ) -> list[tuple[Passage, float]]:
        """Blocks."""
        chosen = _newest(scope_filter, passages)
        folded = [self._passages.folded(passage) for passage in cooperative(chosen)]
        best = [chosen[place] for place in shortlist(query.text, folded, SHORTLIST)]
        shares = self._scanner.coverages(query, [lexical_record(passage) for passage in best])
        return list(zip(best, shares, strict=True))

    async def announce(self, ask: Ask) -> None:
        """It will be asked in a moment: have it embedded, unless no embedder will be asked it, or
        one together with what was said before. Never raises for a broken index or embedder."""
        if self.trusts(ask) and stands_alone(ask.text, ask.subject) and not is_of_days(ask):
            await self._indexing.announce(ask.embedded)

    def clear(self) -> None:
        """Let go of what a scan keeps."""
        self._scanner.clear()


def _newest(scope_filter: ScopeFilter, passages: Iterable[Passage]) -> list[Passage]:
    """The visible ones. A busy public scope must not push a family's out of sight."""
    own: list[Passage] = []
    others: list[Passage] = []
    for passage in passages:
        name = place_name(passage)
        if scope_filter.admits(name):
            (own if name == scope_filter.scopes[0].name else others).append(passage)
    for part in (own, others):
        if len(part) > SCAN_LIMIT:
            part.sort(key=moment_of)
    return own[-SCAN_LIMIT:] + others[-SCAN_LIMIT:]


def _says_all(passage: Passage, query: str) -> bool:
    """True for what holds every word of a question as it stands."""
    text, words = fold(shown_text(passage)), fold(query).split()
    return bool(words) and all(holds(text, word) for word in words)


def _speaks_of(text: str, asked: frozenset[str]) -> bool:
    """True for a text with two neighbouring characters, or a longer word, of what is asked."""
    shared = content(text) & asked if asked else frozenset[str]()
    neighbours = pairwise(fold(text))
    return any({*two} <= shared for two in neighbours) or any(len(one) > 3 for one in shared)
