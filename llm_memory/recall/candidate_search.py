"""Asks the arms for candidates, puts them in the fitted order, and decides whether any answers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from ..catalogue.catalogue import key_of
from ..catalogue.rules.passage_text import shown_text
from ..catalogue.rules.tasks import is_done, is_task
from ..catalogue.rules.timeline import repeats_entries
from ..index.passages import Passages
from ..models.data_models import StoredMemory
from ..models.passages import Key, Passage, moment_of
from ..models.recall import Arm, DropReason
from ..models.vault_layout import topic_of
from ..text.normalising import estimate_tokens
from ..text.overlap import content, holds
from ..text.scripts import fold
from ..text.traditional import simplified
from .arms import Answer, Arms, Found
from .embedder_trust import EmbedderTrust
from .parsed_question import Ask
from .request import Course
from .rules.decision import Decision, decide
from .rules.features import LONG, Features, Message, recency, stated
from .rules.parts import only_asks
from .rules.ranking import Candidate
from .rules.salience import SAID, holds_name, in_time, is_of, salience, tells_of
from .rules.weights import RecallWeights
from .use_counts import UseCounts
from .whole_answers import Whole

_AS_WELL: Final = 1.0
"""Log-odds: what tells of the person may be so much behind."""
_BEHIND: Final = 0.01
_HOW: Final = re.compile(
    "(?:怎么|怎样|如何|咋)(?![了办样又还总老没不会能这那]|回事)|"
    r"\bhow (?:do|should|shall|can|would|to)\b"
)
_SOONER: Final = 0.45
"""Of the floor."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The candidates of a question, and what was decided.

    Attributes:
        candidates: In no order; each knows its place in it.
        arm: What answered.
        limit: How many of them are the answer.
        lost: How many the arms should not have named, by reason.
        share: The embedder's part in the order of both arms, 0 to 1.
        chance: The probability that any of them answers; None where that is no question.
        values: What that was decided by, see ``of_answer``.
        topics: Whose files were read.
        whole: All of a topic, a person or days is asked for: no text answers better than another.
        holding: How many visible passages hold every word of the question, candidates or not; 0
            where only some of them may answer.
    """

    candidates: list[Candidate]
    arm: Arm
    limit: int
    lost: dict[DropReason, int] = field(default_factory=dict)
    share: float = 0.0
    chance: float | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    topics: tuple[str, ...] = ()
    whole: bool = False
    holding: int = 0


def _says_all(passage: Passage, query: str) -> bool:
    """True for what holds every word of a question as it stands."""
    text, words = fold(shown_text(passage)), fold(query).split()
    return bool(words) and all(holds(text, word) for word in words)


def _speaks_of(text: str, asked: frozenset[str]) -> bool:
    """True for a text with two neighbouring characters, or a longer word, of what is asked."""
    shared = content(text) & asked if asked else frozenset[str]()
    neighbours = pairwise(fold(text))
    return any({*two} <= shared for two in neighbours) or any(len(one) > 3 for one in shared)


@dataclass(eq=False)
class CandidateSearch:
    """Asks both arms, or scans where neither can answer. ``_floor``: the least probability at which
    something is said."""

    _passages: Passages
    _arms: Arms
    _trust: EmbedderTrust
    _uses: UseCounts
    _weights: RecallWeights
    _floor: float

    async def ranked(
        self, ask: Ask, course: Course, whole: Whole | None = None, days: Iterable[Passage] = ()
    ) -> Ranked:
        """What the arms name, or a scan where they cannot answer, in the fitted order.

        Args:
            whole: What answers all of the question takes part, ahead of the others.
            days: So does what was said on the days asked for.
        """
        answer = await self._arms.ask(ask, course)
        living, coverage, lost = await self._living(ask, answer, days)
        course.lap("scan" if answer.words is None else "days" if ask.times else "join")
        # They were waited for: what was forgotten or moved meanwhile is not shown.
        best, beside = (whole.best, whole.beside) if whole else ((), ())
        asked = {
            key: one for one in (*best, *beside) if self._passages.get(key := key_of(one)) is one
        }
        places = {key_of(one): at for at, one in enumerate(best)}
        living |= asked
        passages = {
            key: one
            for key, one in living.items()
            if self._answers(ask, one, whole.done if whole else None)
        }
        words = answer.words or Found()
        scores = {key: match.score for key, match in words.words.items()}
        rows = self._rows(ask, answer, passages, coverage, scores if answer.words else coverage)
        decision = self._decide(ask, answer, rows)
        scores_told = self._told_first(ask, passages, decision)
        floors = self._floors(ask, passages)
        similarities = answer.vectors.similarities if answer.vectors else {}
        candidates = [
            Candidate(
                passages[key],
                max(relevance, 0.0) if key in asked else relevance,
                score=scores_told[place],
                factor=decision.factors[place],
                lexical=scores.get(key),
                coverage=coverage.get(key, 0.0),
                similarity=similarities.get(key),
                place=places.get(key),
                weak=key not in asked
                and decision.is_weak(place, floor=floors[place])
                and not _says_all(passages[key], ask.request.query),
                terms=decision.terms[place],
            )
            for place, key in enumerate(rows)
            for relevance in (decision.relevance(place, in_talk=ask.in_talk, floor=floors[place]),)
        ]
        course.lap("join")
        return Ranked(
            candidates,
            answer.arm,
            ask.request.limit,
            lost,
            answer.weight / (1 + answer.weight),
            decision.chance,
            decision.values,
            (whole.topic.value,) if whole and whole.topic else (),
            whole=bool(best),
            holding=0 if ask.request.topic or ask.request.on else words.holding,
        )

    async def _living(
        self, ask: Ask, answer: Answer, days: Iterable[Passage]
    ) -> tuple[dict[Key, Passage], dict[Key, float], dict[DropReason, int]]:
        """What the arms name and still lives, how much of the question it speaks of, 0 to 1, and
        how many they should not have named."""
        words, vectors = answer.words or Found(), answer.vectors or Found()
        coverage = {key: match.coverage for key, match in words.words.items()}
        named = words.words.keys() | vectors.similarities.keys()
        living = {key: passage for key in named if (passage := self._passages.get(key))}
        lost = {
            DropReason.SCOPE: words.refused + vectors.refused,
            DropReason.GONE: len(named) - len(living),
        }
        others: Iterable[Passage] = ()
        if answer.arm is Arm.SCAN:
            others = self._passages.visible(ask.scope_filter)
        elif answer.words is None:
            others = (*living.values(), *answer.waiting)
        elif ask.times:
            # Of what was said on the days asked for, all may stand behind newer words alike.
            others = [one for one in days if key_of(one) not in coverage]
        if answer.words is None or ask.times:
            for passage, share in await self._arms.scan(ask.words, ask.scope_filter, others):
                living[key_of(passage)] = passage
                coverage[key_of(passage)] = share
        return living, coverage, {reason: count for reason, count in lost.items() if count}

    def _answers(self, ask: Ask, passage: Passage, done: bool | None) -> bool:
        """False for what is no answer, whatever it says. What a digest repeats answers by itself,
        and says more; what was asked answers nothing; where tasks are asked for, what is done is no
        answer to what is left; and what is of no topic or day that was asked for beside the
        query."""
        topic, on = ask.request.topic, ask.request.on
        if repeats_entries(passage) or (ask.in_talk and self._is_question(passage)):
            return False
        if done is not None and is_task(passage) and is_done(passage) != done:
            return False
        if topic is not None and not (
            isinstance(passage, StoredMemory) and topic_of(passage.path) is topic
        ):
            return False
        return not on or in_time(passage, ask.times, ask.now.tzinfo)

    def _is_question(self, passage: Passage) -> bool:
        return self._passages.is_unread(passage) and only_asks(shown_text(passage))

    def _rows(
        self,
        ask: Ask,
        answer: Answer,
        passages: Mapping[Key, Passage],
        coverage: Mapping[Key, float],
        scores: Mapping[Key, float],
    ) -> dict[Key, Features]:
        near = self._near(ask, answer, passages, coverage)
        asked_at, question = ask.now.timestamp(), fold(ask.text)
        return {
            key: Features(
                near=near.get(key, 0.0),
                covered=coverage.get(key, 0.0),
                words=scores.get(key, 0.0),
                verbatim=float(question in self._passages.folded(passage)),
                time=float(in_time(passage, ask.times, ask.now.tzinfo)),
                speaker=float(is_of(passage, ask.asker)),
                recent=recency((asked_at - moment_of(passage).timestamp()) / 86_400),
                salient=salience(passage, self._uses.of(passage)),
                stated=stated(shown_text(passage)),
            )
            for key, passage in passages.items()
        }

    def _near(
        self,
        ask: Ask,
        answer: Answer,
        keys: Iterable[Key],
        coverage: Mapping[Key, float],
    ) -> dict[Key, float]:
        """In standard deviations above chance, at least 0; of what the embedder's index cannot know
        yet what its words lead to expect."""
        if answer.vectors is None or not answer.vectors.similarities:
            return {}
        similarities = answer.vectors.similarities
        mean, deviation = self._trust.found.chance(ask.language, answer.vectors.vector)
        far = min(similarities.values())
        low, slope = self._weights.unknown
        waiting = {key_of(passage) for passage in answer.waiting}.union(answer.behind)
        return {
            key: low + slope * coverage.get(key, 0.0)
            if key in waiting and key not in similarities
            else max((similarities.get(key, far) - mean) / deviation, 0.0)
            if deviation > 0
            else 0.0
            for key in keys
        }

    def _floors(self, ask: Ask, passages: Mapping[Key, Passage]) -> list[float]:
        """Who asks how to do a thing is told sooner what speaks of doing it, though each says it in
        words of his own: 晚饭怎么做, 做饭少放盐."""
        asked = content(ask.text) if _HOW.search(simplified(fold(ask.text))) else frozenset[str]()
        return [
            self._floor * (_SOONER if _speaks_of(shown_text(one), asked) else 1.0)
            for one in passages.values()
        ]

    def _told_first(
        self, ask: Ask, passages: Mapping[Key, Passage], decision: Decision
    ) -> list[float]:
        """The scores, where what a person whom the question names only said comes behind what tells
        of the person about as well."""
        asked, own = fold(ask.text), {*map(fold, ask.words.asker)}
        who = {fold(one.memory.who) for one in passages.values() if isinstance(one, StoredMemory)}
        people = [*({name} for name in who - own if len(name) > 1), *map(set, ask.words.persons)]
        people = [own, *(some for some in people if any(holds_name(asked, name) for name in some))]
        told = [
            max(tells_of(one, self._passages.folded(one), some) for some in people)
            if isinstance(one, StoredMemory)
            else 0
            for one in passages.values()
        ]
        scores = list(decision.scores)
        best = max((scores[at] for at, tells in enumerate(told) if tells > SAID), default=-math.inf)
        for at, tells in enumerate(told):
            well = scores[at] - decision.terms[at]["speaker"] - _AS_WELL
            if tells == SAID and well < best < scores[at] + _BEHIND:
                scores[at] = best - _BEHIND
        return scores

    def _decide(self, ask: Ask, answer: Answer, rows: Mapping[Key, Features]) -> Decision:
        vector = answer.vectors.vector if answer.vectors else ()
        probe = self._weights.probes.get(self._trust.model)
        message = Message(
            # Where the talk before is what is asked for, the message's own length says nothing.
            tokens=LONG if ask.used.carried else estimate_tokens(ask.subject),
            asks=float(ask.asks),
            probe=probe.log_odds(vector) if probe else 0.0,
        )
        return decide(self._weights, answer.weight, message, list(rows.values()), ask.request.limit)
