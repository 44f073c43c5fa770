"""Questions for all of something: of a topic, of a person, of days and nothing else.

还有哪些待办, who is Ann, 上周我们做了什么: the answer is a file, or what was said on those days.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from ..catalogue.catalogue import Catalogue, key_of
from ..catalogue.rules.tasks import is_done
from ..catalogue.rules.timeline import dated, in_order
from ..errors import IndexUnavailable
from ..index.lexical_port import LexicalQuery
from ..index.passages import Passages
from ..models.data_models import MemoryKind, StoredMemory, Topic
from ..text.dates.spans import TimeSpan
from ..text.scripts import fold
from .arms import Arms
from .parsed_question import Ask
from .rules.questions.heads import Asked, asked_for
from .rules.salience import in_time, is_of, salience
from .rules.talk import is_about_time_alone
from .use_counts import UseCounts

READ: Final = 1000
"""Of a topic's files so many are looked at: those that came last."""
LOOKED_AT: Final = 400
"""Memories of each scope, the newest ones of the days that are asked for."""
_OF_TOPIC, _OF_DAYS = 50, 100
"""Of both so many take part."""
_NAMED: Final = 7
"""Of so many days of a span the dates are looked for in what was said on others."""
_IN_TIME: Final = frozenset({MemoryKind.EVENT, MemoryKind.TASK})
"""What was on one day, or is to be done: it comes after what holds."""


@dataclass(frozen=True, slots=True)
class Whole:
    """What answers all of a question.

    Attributes:
        best: It, in this order, ahead of the others, whatever their texts say.
        beside: What else is of the topic that was asked for beside the query.
        topic: Its files were read.
        done: Of tasks, whether those that are done were asked for; None for any other question.
        limit: How many of them are the answer to a question about days; None for any other.
    """

    best: Sequence[StoredMemory] = ()
    beside: Sequence[StoredMemory] = ()
    topic: Topic | None = None
    done: bool | None = None
    limit: int | None = None


class WholeAnswers:
    """Reads files and days, inside the filter of the question."""

    def __init__(
        self, catalogue: Catalogue, passages: Passages, arms: Arms, uses: UseCounts
    ) -> None:
        self._catalogue = catalogue
        self._passages = passages
        self._arms = arms
        self._uses = uses

    @staticmethod
    def is_of_days(ask: Ask) -> bool:
        """True for a question that names days and asks for nothing else."""
        return bool(ask.times) and is_about_time_alone(ask.subject)

    async def of(self, ask: Ask) -> Whole | None:
        """None for a question that asks for nothing whole, or for what nobody knows by that
        name."""
        asked, topic = _asked(ask), ask.request.topic
        best: Sequence[StoredMemory] = ()
        if asked is not None and asked.topic is not None:
            best = self._of_topic(ask, asked.topic, asked)
        elif asked is not None:
            best = await self._of_person(ask, asked.name)
        if not best and topic is None and self.is_of_days(ask):
            return await self._of_days(ask)
        beside = self._of_topic(ask, topic) if topic is not None else ()
        done = asked.done if asked and asked.topic is Topic.TASKS else None
        read = asked.topic if asked and best else None
        return Whole(best, beside, read, done) if best or beside or done is not None else None

    def said_on(self, ask: Ask) -> Iterator[StoredMemory]:
        """What the catalogue knows of the days asked for, some of it twice."""
        # Each span by itself: 昨天和去年五月 must not be all that lies between.
        for span in ask.times:
            of_days = span.start, span.end, ask.scope_filter
            yield from self._catalogue.of_days(*of_days, ask.now.tzinfo, LOOKED_AT)
            yield from self._catalogue.telling_of_days(*of_days, LOOKED_AT)

    def _of_topic(self, ask: Ask, topic: Topic, asked: Asked | None = None) -> list[StoredMemory]:
        read: Iterable[StoredMemory] = self._passages.of_topics({topic}, ask.scope_filter)
        if asked and topic is Topic.TASKS:
            # What is done is no answer to what is left, nor the other way round.
            read = (one for one in islice(read, READ) if is_done(one) == asked.done)
        if asked and asked.name:
            called = {asked.name, *map(fold, _called(ask, asked.name))}
            read = (one for one in islice(read, READ) if self._tells_of(one, called, ()))
        first = islice(read, READ)
        return heapq.nlargest(_OF_TOPIC, first, key=lambda one: self._weight(ask, one))

    def _weight(self, ask: Ask, stored: StoredMemory) -> tuple[bool, bool, float, float]:
        """What no text orders: of the days asked for, said by the asker, strong, new."""
        return (
            in_time(stored, ask.times, ask.now.tzinfo),
            is_of(stored, ask.asker),
            salience(stored, self._uses.of(stored)),
            stored.memory.created_at.timestamp(),
        )

    async def _of_person(self, ask: Ask, name: str) -> list[StoredMemory]:
        """What tells of a person: facts first, then as ``_tells_of``, then the newest. Empty for a
        name that no speaker has, and with which no memory begins: it is the name of a thing, and
        what merely holds the word is no answer."""
        asker = ask.request.asker
        if not name and asker is None:
            return []
        names = {name} if name or asker is None else {*map(fold, ask.request.names)} - {""}
        names.update(map(fold, _called(ask, name)))
        persons = frozenset[str]() if name else ask.asker
        found = {
            one: tells
            for one in await self._naming(ask, names)
            if (tells := self._tells_of(one, names, persons))
        }
        speaks = any(fold(one.memory.who) in names for one in found)
        if not (persons or speaks or any(tells != _HOLDS for tells in found.values())):
            return []

        def order(one: StoredMemory) -> tuple[bool, int, datetime]:
            return one.memory.kind not in _IN_TIME, found[one], one.memory.created_at

        return sorted(found, key=order, reverse=True)

    def _tells_of(
        self, stored: StoredMemory, names: Collection[str], persons: Collection[str]
    ) -> int:
        judgment, folded = fold(stored.memory.judgment), self._passages.folded(stored)
        if any(judgment.startswith(name) and _holds(judgment, name) for name in names):
            return _BEGINS
        if any(_holds(folded, name) for name in names):
            return _HOLDS
        said_by = stored.memory.provenance.person in persons
        return int(said_by or fold(stored.memory.who) in names)

    async def _naming(self, ask: Ask, names: Iterable[str]) -> list[StoredMemory]:
        """What the index of words finds for a name, of its speaker or in a text."""
        query = LexicalQuery(text := " ".join(names), text)
        found = await self._arms.words(query, ask.scope_filter, [])
        if found is not None:
            passages = [self._passages.get(key) for key in found.words]
        else:
            visible = self._passages.visible(ask.scope_filter)
            passages = [one for one, _ in await self._arms.scan(query, ask.scope_filter, visible)]
        return [one for one in passages if isinstance(one, StoredMemory)]

    async def _of_days(self, ask: Ask) -> Whole:
        """The digests of the days, then what was said on them; nothing of other days but what
        names one of these. One for each of up to ``request.days`` days is the answer, where that
        is more than the limit."""
        zone, limit = ask.now.tzinfo, ask.request.limit
        others = await self._naming_days(ask)
        found = {key_of(one): one for one in (*others, *self.said_on(ask))}
        of_these = [one for stored in found.values() if (one := dated(stored, ask.times, zone))]
        of_these.sort(key=lambda one: self._weight(ask, one.stored), reverse=True)
        stated = {one.day for one in of_these if one.said_then}
        limit = max(limit, min(len(stated), ask.request.days))
        own = ask.scope_filter.scopes[0].name
        return Whole(in_order(of_these, own=own, limit=limit)[:_OF_DAYS], limit=limit)

    async def _naming_days(self, ask: Ask) -> list[StoredMemory]:
        """What an index knows beside the catalogue: what waits to enter the vault, and what was
        said on another day and names one of these."""
        zone = ask.now.tzinfo
        first, last = min(one.start for one in ask.times), max(one.end for one in ask.times)
        try:
            begin = datetime.combine(first, datetime.min.time(), zone).timestamp()
            end = datetime.combine(last, datetime.max.time(), zone).timestamp()
            keys = await self._arms.of_days(ask.scope_filter, begin, end)
        except (IndexUnavailable, OverflowError, OSError, ValueError):  # years no clock can count
            return []
        named = _names_of(ask.times)
        words = await self._arms.words(LexicalQuery(named, named), ask.scope_filter, [])
        passages = (self._passages.get(key) for key in (*keys, *(words.words if words else ())))
        return [passage for passage in passages if isinstance(passage, StoredMemory)]


_BEGINS, _HOLDS = 3, 2
"""How directly a memory tells of a person: it begins with the name, it holds it; 1 where the person
said it."""


def _asked(ask: Ask) -> Asked | None:
    """What a question is for, whole; None for any other, and for one about days."""
    asked = asked_for(ask.subject)
    if asked is None or (asked.topic is None and not asked.name and ask.times):
        return None
    # 介绍一下大伟 asks whatever its form is; 我有任务 does not.
    names_person = asked.topic is None and asked.name
    return asked if ask.asks or not ask.in_talk or names_person else None


def _called(ask: Ask, name: str) -> Sequence[str]:
    """The other names of a person, none where it is nobody's."""
    return next((some for some in ask.request.named if some[0] == name), ())


def _names_of(spans: Sequence[TimeSpan]) -> str:
    """What says in a text that it speaks of these days."""
    dates = (
        (span.start + timedelta(days=n)).isoformat()
        for span in spans
        for n in range(min((span.end - span.start).days + 1, _NAMED))
    )
    return " ".join((*(span.words for span in spans), *dates))


def _holds(text: str, name: str) -> bool:
    """Whether a name stands in a text; one in Latin letters as a whole word."""
    if name.isascii():
        return re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text) is not None
    return name in text
