"""Questions for all of a topic, or for all that is known of a person: 还有哪些待办, who is Ann."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from ..catalogue.catalogue import key_of
from ..catalogue.rules.tasks import is_done, is_task
from ..errors import IndexUnavailable
from ..index.lexical_port import LexicalQuery
from ..index.passages import Passages
from ..models.conversation import Actor
from ..models.data_models import StoredMemory, Topic
from ..models.passages import Passage
from ..models.vault_layout import topic_of
from ..text.scripts import fold
from .arms import Arms
from .parsed_question import Ask
from .rules.questions.heads import Asked, asked_for
from .rules.ranking import Candidate
from .rules.whole_answers import behind, in_front, known_of, tells_of

READ = 1000
"""Of a scope's file so many are looked at: those that came last."""


class WholeRecall:
    """``factor`` orders what stands in a file."""

    def __init__(
        self, passages: Passages, arms: Arms, factor: Callable[[Ask, Passage], float]
    ) -> None:
        self._passages = passages
        self._arms = arms
        self._factor = factor

    @staticmethod
    def asked(ask: Ask) -> Asked | None:
        """What a question is for, whole; None for any other, and for one about days."""
        asked = asked_for(ask.subject)
        if asked is None or (asked.topic is None and not asked.name and ask.times):
            return None
        # 介绍一下大伟 asks whatever its form is; 我有任务 does not.
        names_person = asked.topic is None and asked.name
        return asked if ask.asks or not ask.in_talk or names_person else None

    async def found(self, ask: Ask, asked: Asked, asker: Actor | None) -> dict[StoredMemory, float]:
        """What answers, and its order. Empty where nobody has the name that is asked about."""
        names = {asked.name} if asked.name else set[str]()
        if asked.topic is None:
            if not asked.name and asker is not None:
                names, persons = {fold(asker.name)} - {""}, ask.asker
            elif not asked.name:
                return {}
            else:
                persons = frozenset()
            return known_of(await self._naming(ask, names), self._passages.folded, names, persons)
        read = islice(self._passages.of_topics({asked.topic}, ask.scope_filter), READ)
        if asked.topic is Topic.TASKS:
            # What is done is no answer to what is left, nor the other way round.
            read = islice((one for one in read if is_done(one) == asked.done), READ)
        return {
            one: self._factor(ask, one)
            for one in read
            if not names or tells_of(one, self._passages.folded(one), names, ())
        }

    @staticmethod
    def joined(
        asked: Asked, candidates: Iterable[Candidate], found: dict[StoredMemory, float]
    ) -> list[Candidate]:
        """What answers, before the other candidates."""
        if asked.topic is Topic.TASKS:
            candidates = [
                one
                for one in candidates
                if not is_task(one.passage) or is_done(one.passage) == asked.done
            ]
        return in_front(candidates, found)

    def of_topic(self, ask: Ask, topic: Topic, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Those that stand in the topic's files, and behind them the best of what else does."""
        inside = [
            one
            for one in candidates
            if isinstance(one.passage, StoredMemory) and topic_of(one.passage.path) is topic
        ]
        known = {key_of(one.passage) for one in inside}
        rest = (
            one
            for one in islice(self._passages.of_topics({topic}, ask.scope_filter), READ)
            if key_of(one) not in known
        )
        orders = {one: self._factor(ask, one) for one in rest}
        return [*inside, *behind(inside, orders)]

    async def _naming(self, ask: Ask, names: Iterable[str]) -> list[StoredMemory]:
        """What the index of words finds for a name, of its speaker or in a text."""
        query = LexicalQuery(text := " ".join(names), text)
        try:
            keys = (await self._arms.words(query, ask.scope_filter)).scores
            passages = [self._passages.get(key) for key in keys]
        except IndexUnavailable:
            visible = self._passages.visible(ask.scope_filter)
            passages = [one for one, _ in await self._arms.scan(query, ask.scope_filter, visible)]
        return [one for one in passages if isinstance(one, StoredMemory)]
