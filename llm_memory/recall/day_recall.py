"""Questions about days and nothing else: 上周我们做了什么. Answered by date, without any index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta

from ..catalogue.catalogue import Catalogue, entry_key, key_of
from ..catalogue.rules.timeline import dated, in_order
from ..errors import IndexUnavailable
from ..index.lexical_port import LexicalQuery
from ..index.passages import Passages
from ..models.data_models import StoredMemory
from ..text.dates.spans import TimeSpan
from .arms import Arms
from .parsed_question import Ask
from .rules.day_digest import limit_of
from .rules.features import recency
from .rules.ranking import Candidate
from .rules.relevance import is_about_time_alone
from .rules.salience import SALIENCE, SPEAKER, days, is_of, salience
from .use_counts import UseCounts

LOOKED_AT = 400
"""Memories of each scope, the newest ones of the days that are asked for."""
MOST = 100
"""Of them so many take part."""
_NAMED = 7
"""Of so many days of a span the dates are looked for in what was said on others."""


class DayRecall:
    """What was said on the days that a question names."""

    def __init__(
        self, catalogue: Catalogue, passages: Passages, arms: Arms, uses: UseCounts
    ) -> None:
        self._catalogue = catalogue
        self._passages = passages
        self._arms = arms
        self._uses = uses

    @staticmethod
    def answers(ask: Ask) -> bool:
        """True for a question that names days and asks for nothing else."""
        return bool(ask.times) and is_about_time_alone(ask.subject)

    async def candidates(self, ask: Ask, limit: int, each: int) -> tuple[list[Candidate], int]:
        """The digests of the days, then what was said on them; nothing of other days but what
        names one of these. All of it is relevant. In order: the scores say no more. And how many
        of them are the answer: one for each of ``each`` days, where that is more than ``limit``."""
        zone = ask.now.tzinfo
        bounds = days(ask.times)
        if bounds is None:
            return [], limit
        found = {key_of(stored): stored for stored in self.said_on(ask)}
        for stored in await self._others(ask, bounds):
            found.setdefault(key_of(stored), stored)
        of_these = [
            one for stored in found.values() if (one := dated(stored, ask.times, zone)) is not None
        ]
        asked_at = ask.now.timestamp()
        factors = {key_of(one.stored): self._factor(ask, one.stored, asked_at) for one in of_these}
        of_these.sort(key=lambda one: -factors[key_of(one.stored)])
        own = ask.scope_filter.scopes[0].name
        limit = limit_of(of_these, limit, each)
        ordered = in_order(of_these, own=own, limit=limit)[:MOST]
        return [
            Candidate(stored, 0.0, score=1.0 - place / MOST, factor=factors[key_of(stored)])
            for place, stored in enumerate(ordered)
        ], limit

    def said_on(self, ask: Ask) -> Iterator[StoredMemory]:
        """What the catalogue knows of the days asked for, some of it twice."""
        # Each span by itself: 昨天和去年五月 must not be all that lies between.
        for span in ask.times:
            of_days = span.start, span.end, ask.scope_filter
            yield from self._catalogue.of_days(*of_days, ask.now.tzinfo, LOOKED_AT)
            yield from self._catalogue.telling_of_days(*of_days, LOOKED_AT)

    def _factor(self, ask: Ask, stored: StoredMemory, asked_at: float) -> float:
        own = SPEAKER if is_of(stored, "", ask.asker) else 1.0
        age = (asked_at - stored.memory.created_at.timestamp()) / 86_400
        newer = recency(age)
        return own * (1 + SALIENCE * (salience(stored, self._uses.of(entry_key(stored))) + newer))

    async def _others(self, ask: Ask, bounds: tuple[date, date]) -> list[StoredMemory]:
        """What an index knows beside the catalogue: what waits to enter the vault, and what was
        said on another day and names one of these."""
        try:
            first = datetime.combine(bounds[0], datetime.min.time(), ask.now.tzinfo).timestamp()
            last = datetime.combine(bounds[1], datetime.max.time(), ask.now.tzinfo).timestamp()
            keys = await self._arms.of_days(ask.scope_filter, first, last)
            named = _names_of(ask.times)
            words = await self._arms.words(LexicalQuery(named, named), ask.scope_filter)
        except (IndexUnavailable, OverflowError, OSError, ValueError):  # years no clock can count
            return []
        passages = (self._passages.get(key) for key in (*keys, *words.scores))
        return [passage for passage in passages if isinstance(passage, StoredMemory)]


def _names_of(spans: Sequence[TimeSpan]) -> str:
    """What says in a text that it speaks of these days."""
    dates = (
        (span.start + timedelta(days=n)).isoformat()
        for span in spans
        for n in range(min((span.end - span.start).days + 1, _NAMED))
    )
    return " ".join((*(span.words for span in spans), *dates))
