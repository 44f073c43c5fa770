"""Questions for all of something: of a topic, of a person, of days and nothing else.

还有哪些待办, who is Ann, 上周我们做了什么: the answer is a file, or what was said on those days.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import islice
from typing import Final

from ..catalogue.catalogue import Catalogue, key_of
from ..catalogue.rules.tasks import is_done, is_task
from ..catalogue.rules.timeline import dated, in_order, lying
from ..index.passages import Passages
from ..models.data_models import MemoryKind, StoredMemory, Topic
from ..text.dates.expressions import Towards, towards
from ..text.english import stem
from ..text.scripts import fold
from ..text.stated import CLAUSE, asks
from ..text.traditional import simplified
from .question import Ask
from .rules.asked import EVERYTHING, Asked, OfDays, asked_for, asked_of_days
from .rules.salience import HOLDS, in_time, is_of, salience, tells_of
from .use_counts import UseCounts

READ: Final = 1000
"""Of a topic's files so many are looked at: those that came last."""
LOOKED_AT: Final = 400
"""Memories of each scope, the newest ones of the days that are asked for."""
_OF_TOPIC, _OF_DAYS = 50, 100
"""Of both so many take part."""
_IN_TIME: Final = frozenset({MemoryKind.EVENT, MemoryKind.TASK})
"""What was on one day, or is to be done: it comes after what holds."""


_LATIN: Final = re.compile("[a-z]+")
_OF_A_TIME: Final = 2
"""What lies on days no more directly, see ``lying``, was merely said on them."""


@dataclass(frozen=True, slots=True)
class Whole:
    """What answers all of a question.

    Attributes:
        best: It, in this order, ahead of the others, whatever their texts say.
        beside: What else is of the topic or the days that were asked for beside the query.
        topic: Its files were read.
        done: Of tasks, whether those that are done were asked for; None for any other question.
        limit: How many of them are the answer to a question about days; None for any other.
    """

    best: Sequence[StoredMemory] = ()
    beside: Sequence[StoredMemory] = ()
    topic: Topic | None = None
    done: bool | None = None
    limit: int | None = None


@dataclass(eq=False)
class WholeAnswers:
    """Reads files and days, inside the filter of the question. ``_naming`` gives what the index of
    words finds for names, of a speaker or in a text."""

    _catalogue: Catalogue
    _passages: Passages
    _uses: UseCounts
    _naming: Callable[[Ask, Iterable[str]], Awaitable[list[StoredMemory]]]

    async def of(self, ask: Ask) -> Whole:
        """An empty one for a question that asks for nothing whole, or for what nobody knows by that
        name."""
        asked, topic, of_days = _asked(ask), ask.request.topic, _of_days_asked(ask)
        best: Sequence[StoredMemory] = ()
        if topic is None and of_days is not None and of_days.all:
            whole = self._of_days(ask, of_days)
            if whole.best or not (of_days.left or asked):
                return whole
        if asked is not None and asked.topic is not None:
            best = self._of_topic(ask, asked.topic, asked)
        elif asked is not None:
            best = await self._of_person(ask, asked.name)
            if asked.each and not (best or ask.times):
                best = await self._of_each(ask, asked.name)
        beside: Sequence[StoredMemory] = ()
        if topic is not None:
            beside = self._of_topic(ask, topic)
        elif ask.request.on:
            beside = self._of_days(ask, EVERYTHING).best
        elif of_days is not None and not best:
            lying_then = [one for one, at in self._lying(ask) if at[0] <= 1]
            beside = [one for one in lying_then if of_days.own or self._is_of(one, of_days)]
        done = asked.done if asked and asked.topic is Topic.TASKS else None
        return Whole(best, beside, asked.topic if asked and best else None, done)

    def said_on(self, ask: Ask) -> Iterator[StoredMemory]:
        """What the catalogue knows of the days asked for, some of it twice."""
        # Each span by itself: 昨天和去年五月 must not be all that lies between.
        for span in ask.times:
            of_days = span.start, span.end, ask.request.scope_filter
            yield from self._catalogue.of_days(*of_days, ask.now.tzinfo, LOOKED_AT)
            yield from self._catalogue.telling_of_days(*of_days, LOOKED_AT)

    def _of_topic(self, ask: Ask, topic: Topic, asked: Asked | None = None) -> list[StoredMemory]:
        read: Iterable[StoredMemory] = self._passages.of_topics({topic}, ask.request.scope_filter)
        if asked and topic is Topic.TASKS:
            # What is done is no answer to what is left, nor the other way round.
            read = (one for one in islice(read, READ) if is_done(one) == asked.done)
        called = set[str]()
        if asked and asked.name:
            called = {asked.name, *map(fold, _called(ask, asked.name))}
            read = (one for one in islice(read, READ) if self._tells_of(one, called, ()))
        elif asked and topic is Topic.TASKS and ask.asker:
            tasks, called = list(islice(read, READ)), {*map(fold, ask.request.names)} - {""}
            read = [one for one in tasks if self._tells_of(one, called, ask.asker)] or tasks
        first = islice(read, READ)
        return heapq.nlargest(_OF_TOPIC, first, key=lambda one: self._weight(ask, one, called))

    def _weight(
        self, ask: Ask, stored: StoredMemory, called: Collection[str] = ()
    ) -> tuple[bool, bool, bool, float, float]:
        """What no text orders: of the days asked for, of the person of these names rather than said
        by that person, said by the asker, strong, new."""
        return (
            in_time(stored, ask.times, ask.now.tzinfo),
            self._tells_of(stored, called, ()) >= HOLDS,
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
        if not (persons or speaks or any(tells != HOLDS for tells in found.values())):
            return []

        def order(one: StoredMemory) -> tuple[bool, int, datetime]:
            return one.memory.kind not in _IN_TIME, found[one], one.memory.created_at

        return sorted(found, key=order, reverse=True)

    async def _of_each(self, ask: Ask, words: str) -> list[StoredMemory]:
        """Whatever holds the noun, in any of its forms: who of all has or is what it says."""
        noun = words.split()[-1]
        key = stem(noun)

        def holds_it(text: str) -> bool:
            return key in map(stem, _LATIN.findall(text)) if noun.isascii() else noun in text

        found = await self._naming(ask, [words])
        return [one for one in found if holds_it(simplified(fold(one.memory.judgment)))]

    def _tells_of(
        self, stored: StoredMemory, names: Collection[str], persons: Collection[str]
    ) -> int:
        return tells_of(stored, self._passages.folded(stored), names, persons)

    def _of_days(self, ask: Ask, asked: OfDays) -> Whole:
        """Of days to come what lies on them, first what holds a word of the question; of others
        their digests, then what was said on them, then what names one of them. Where
        ``request.days`` are to be told each, one for each of up to so many of these is the answer,
        and of what is to come all that lies on the days, one of each day before the second of
        any."""
        back = towards(ask.request.query) is Towards.BACK
        if back or all(span.end < ask.now.date() for span in ask.times):
            zone = ask.now.tzinfo
            read = (dated(one, ask.times, zone) for one in self._weighed(ask))
            of_these = [one for one in read if one is not None]
            days = {one.day for one in of_these if one.said_then}
            limit = max(ask.request.limit, min(len(days), ask.request.days))
            own = ask.request.scope_filter.scopes[0].name
            return Whole(in_order(of_these, own=own, limit=limit)[:_OF_DAYS], limit=limit)
        plans = [pair for pair in self._lying(ask) if not (is_task(pair[0]) and is_done(pair[0]))]
        plans.sort(key=lambda pair: (not self._is_of(pair[0], asked), pair[1]))
        before: Counter[date] = Counter()
        order = []
        for one, (direct, _, day) in plans[:_OF_DAYS]:
            order.append((not self._is_of(one, asked), direct > _OF_A_TIME, before[day], one))
            before[day] += 1
        order.sort(key=lambda each: each[:3])
        lying_there = sum(not vague for _, vague, _, _ in order) if ask.request.days else 0
        limit = max(ask.request.limit, lying_there)
        return Whole([one for *_, one in order], limit=limit)

    def _lying(self, ask: Ask) -> list[tuple[StoredMemory, tuple[int, bool, date]]]:
        today, zone = ask.now.date(), ask.now.tzinfo
        found = ((one, lying(one, ask.times, zone, today)) for one in self._weighed(ask))
        return [(one, at) for one, at in found if at is not None]

    def _weighed(self, ask: Ask) -> list[StoredMemory]:
        found = {key_of(one): one for one in self.said_on(ask)}.values()
        return sorted(found, key=lambda one: self._weight(ask, one), reverse=True)

    def _is_of(self, stored: StoredMemory, asked: OfDays) -> bool:
        return asked.holds(simplified(f"{fold(stored.memory.who)} {self._passages.folded(stored)}"))


def is_of_days(ask: Ask) -> bool:
    """True for a question for all that lies on the days that it names."""
    asked = _of_days_asked(ask)
    return asked is not None and asked.all


def _of_days_asked(ask: Ask) -> OfDays | None:
    asked = not ask.request.in_talk or any(map(asks, CLAUSE.findall(ask.request.query)))
    if not ask.times:
        return None
    today = ask.now.date()
    ahead = all(span.start > today for span in ask.times)
    past = all(span.start < today and span.end <= today for span in ask.times)
    return asked_of_days(ask.subject, asks=asked, ahead=ahead, past=past)


def _asked(ask: Ask) -> Asked | None:
    """What a question is for, whole; None for any other, and for one about days."""
    asked = asked_for(ask.subject)
    if asked is None or (asked.topic is None and not asked.name and ask.times):
        return None
    # 介绍一下大伟 asks whatever its form is; 我有任务 does not.
    names_person = asked.topic is None and asked.name and not asked.each
    return asked if ask.asks or not ask.request.in_talk or names_person else None


def _called(ask: Ask, name: str) -> Sequence[str]:
    """The other names of a person, none where it is nobody's."""
    return next((some for some in ask.request.named if some[0] == name), ())
