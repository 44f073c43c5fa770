"""Questions for all of something: of a topic, of a person, of days and nothing else.

还有哪些待办, who is Ann, 上周我们做了什么: the answer is a file, or what was said on those days.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import count, islice
from typing import Final

from ..catalogue.catalogue import Catalogue, key_of
from ..catalogue.rules.tasks import is_done, is_task
from ..catalogue.rules.timeline import dated, in_order, lying
from ..index.passages import Passages
from ..models.data_models import MemoryKind, StoredMemory, Topic
from ..text.dates.expressions import Towards, towards
from ..text.english import stem
from ..text.scripts import fold
from .afterwards import UseCounts
from .patterns import PATTERNS
from .question import Ask
from .rules.asked import EVERYTHING, Asked, OfDays
from .rules.order import HOLDS, in_time, is_of, salience, tells_of

_READ: Final = 1000
"""Of a topic's files so many are looked at: those that came last."""
_LOOKED_AT: Final = 400
"""Memories of each scope, the newest ones of the days that are asked for."""
_OF_TOPIC, _OF_DAYS = 50, 100
"""Of both so many take part."""
_TOLD: Final = 10
"""Of days that are over so many memories are told."""
_IN_TIME: Final = {MemoryKind.EVENT, MemoryKind.TASK}
"""What was on one day, or is to be done: it comes after what holds."""
_OF_A_TIME: Final = 2
"""What lies on days no more directly, see ``lying``, was merely said on them."""


@dataclass(frozen=True, slots=True)
class Whole:
    """What answers all of a question: ``best``, in this order, ahead of the others, whatever their
    texts say; of a question about days the first ``limit`` of them, which is None for any other,
    and ``briefly`` where they do not fit.
    ``beside``: what else is of the topic or the days that were asked for beside the query."""

    best: Sequence[StoredMemory] = ()
    beside: Sequence[StoredMemory] = ()
    limit: int | None = None
    briefly: bool = False


@dataclass(eq=False)
class WholeAnswers:
    """Reads files and days, inside the filter of the question. ``_naming`` gives what the index of
    words finds for names, of a speaker or in a text."""

    _catalogue: Catalogue
    _passages: Passages
    _uses: UseCounts
    _naming: Callable[[Ask, Iterable[str]], Awaitable[list[StoredMemory]]]

    async def of(self, ask: Ask) -> Whole:
        """Empty where nothing whole is asked for, or what nobody knows by that name."""
        asked, days, topic = ask.whole, ask.of_days, ask.request.topic
        if topic is None and days is not None and days.all:
            whole = self._of_days(ask, days)
            if whole.best or not (days.left or asked):
                return whole
        best: Sequence[StoredMemory] = ()
        if asked is not None and asked.topic is not None:
            best = self._of_topic(ask, asked, asked.topic)
        elif asked is not None:
            best = await self._of_person(ask, asked)
        if topic is not None:
            return Whole(best, self._heaviest(ask, self._files(ask, topic)))
        if ask.request.on:
            return Whole(best, self._of_days(ask, EVERYTHING).best)
        if days is None or best:
            return Whole(best)
        there = [one for at, one in self._lying(ask) if at[0] <= 1]
        return Whole(beside=[one for one in there if days.own or self._is_of(one, days)])

    def said_on(self, ask: Ask) -> Iterator[StoredMemory]:
        """What the catalogue knows of the days asked for, some of it twice."""
        # Each span by itself: 昨天和去年五月 must not be all that lies between.
        for span in ask.times:
            of_days = span.start, span.end, ask.request.scope_filter
            yield from self._passages.of_days(*of_days, ask.now.tzinfo, _LOOKED_AT)
            yield from self._catalogue.telling_of_days(*of_days, _LOOKED_AT)

    def _of_topic(self, ask: Ask, asked: Asked, topic: Topic) -> list[StoredMemory]:
        read, names, of_tasks = self._files(ask, topic), set[str](), topic is Topic.TASKS
        if of_tasks:  # what is done is no answer to what is left, nor the other way round
            read = [one for one in read if is_done(one) == asked.done]
        if asked.name or (of_tasks and ask.asker):
            (names, persons), folded = _called(ask, asked.name), self._passages.folded
            theirs = [one for one in read if tells_of(one, folded(one), names, persons)]
            read = theirs if asked.name else theirs or read
        return self._heaviest(ask, read, names)

    def _files(self, ask: Ask, topic: Topic) -> list[StoredMemory]:
        return [*islice(self._catalogue.of_topics({topic}, ask.request.scope_filter), _READ)]

    def _heaviest(
        self,
        ask: Ask,
        read: Iterable[StoredMemory],
        names: Collection[str] = (),
        most: int | None = _OF_TOPIC,
    ) -> list[StoredMemory]:
        """What no text orders: first what is of the days asked for, of the person of these names
        rather than said by that person, said by the asker, strong, new."""

        def weight(stored: StoredMemory) -> tuple[float, ...]:
            return (
                in_time(stored, ask.times, ask.now.tzinfo),
                tells_of(stored, self._passages.folded(stored), names) >= HOLDS,
                is_of(stored, ask.asker),
                salience(stored, self._uses.of(stored)),
                stored.memory.created_at.timestamp(),
            )

        return sorted(read, key=weight, reverse=True)[:most]

    async def _of_person(self, ask: Ask, asked: Asked) -> list[StoredMemory]:
        """What tells of a person: facts first, then as ``tells_of``, then the newest. Nothing for a
        name that no speaker has, and with which no memory begins: it is the name of a thing, and
        what merely holds the word is no answer, but where it is asked who of all has the thing."""
        (names, persons), folded = _called(ask, asked.name), self._passages.folded
        read = await self._naming(ask, names)
        found = {one: how for one in read if (how := tells_of(one, folded(one), names, persons))}
        speaks = any(fold(one.memory.who) in names for one in found)
        if not (persons or speaks or any(how != HOLDS for how in found.values())):
            return await self._of_each(ask, asked.name) if asked.each and not ask.times else []
        return sorted(
            found,
            key=lambda one: (one.memory.kind not in _IN_TIME, found[one], one.memory.created_at),
            reverse=True,
        )

    async def _of_each(self, ask: Ask, words: str) -> list[StoredMemory]:
        """Whatever holds the noun, in any of its forms: who of all has or is what it says."""
        noun, found = words.split()[-1], await self._naming(ask, [words])
        said = {one: fold(one.memory.judgment) for one in found}
        if not noun.isascii():
            return [one for one, text in said.items() if noun in text]
        latin, asked = PATTERNS["latin"], stem(noun)
        return [one for one, text in said.items() if asked in map(stem, latin.findall(text))]

    def _of_days(self, ask: Ask, asked: OfDays) -> Whole:
        ahead = any(span.end >= ask.now.date() for span in ask.times)
        if ahead and towards(ask.request.query) is not Towards.BACK:
            return self._to_come(ask, asked)
        return self._gone_by(ask)

    def _gone_by(self, ask: Ask) -> Whole:
        """What was said on the days, then what names one of them. Unless the asker wants fewer,
        ``_TOLD`` of what was said are the answer."""
        request = ask.request
        read = (dated(one, ask.times, ask.now.tzinfo) for one in self._weighed(ask))
        of_these = [one for one in read if one is not None]
        said = sum(one.said_then for one in of_these)
        limit = max(request.limit, min(said, _TOLD) if request.days else 0)
        own = request.scope_filter.scopes[0].name
        best = in_order(of_these, own=own, limit=limit)[:_OF_DAYS]
        return Whole(best, limit=limit, briefly=True)

    def _to_come(self, ask: Ask, asked: OfDays) -> Whole:
        """What lies on the days, first what holds a word of the question, and one of each day
        before the second of any; all of it is the answer where ``request.days`` are to be told."""
        lying = (some for some in self._lying(ask) if not (is_task(some[1]) and is_done(some[1])))
        plans = [(not self._is_of(one, asked), at, one) for at, one in lying]
        plans = sorted(plans, key=lambda plan: plan[:2])[:_OF_DAYS]
        before = defaultdict[date, Iterator[int]](count)
        order = [
            (other, how > _OF_A_TIME, next(before[day]), one) for other, (how, _, day), one in plans
        ]
        there = sum(not vague for _, vague, *_ in order) if ask.request.days else 0
        best = [plan[-1] for plan in sorted(order, key=lambda plan: plan[:3])]
        return Whole(best, limit=max(ask.request.limit, there))

    def _lying(self, ask: Ask) -> list[tuple[tuple[int, bool, date], StoredMemory]]:
        """See the function of that name."""
        today, zone = ask.now.date(), ask.now.tzinfo
        found = ((lying(one, ask.times, zone, today), one) for one in self._weighed(ask))
        return [(at, one) for at, one in found if at is not None]

    def _weighed(self, ask: Ask) -> list[StoredMemory]:
        found = {key_of(one): one for one in self.said_on(ask)}
        return self._heaviest(ask, found.values(), most=None)

    def _is_of(self, stored: StoredMemory, asked: OfDays) -> bool:
        return asked.holds(f"{fold(stored.memory.who)} {self._passages.folded(stored)}")


def _called(ask: Ask, name: str) -> tuple[set[str], frozenset[str]]:
    """All names of a person, folded; without a name the asker's, with the asker's ids."""
    if not name:
        return {*map(fold, ask.request.names)} - {""}, ask.asker
    others = next((some for some in ask.request.named if some[0] == name), ())
    return {name, *map(fold, others)}, frozenset()
