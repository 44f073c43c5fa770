"""What a recall is asked, and how it goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ..models.conversation import Actor
from ..models.data_models import Topic
from ..models.passages import Passage
from ..models.recall import Hit
from ..models.scope import ScopeFilter
from ..models.turns import ContextLine
from ..text.hit_line import line_tokens
from ..texts import Texts

WEEK: Final = 7
"""So many days are told each, where a question names them."""


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """One question inside a scope filter that is resolved already.

    Attributes:
        asker: Who asks: 我 is that person.
        days: A question about days alone may be answered by one memory for each of so many of
            them, whatever the limit is. The budget holds.
        context: What was said before, the earliest first, in the view that the filter is of.
        topic: Only what stands in its files.
        on: Only what is of the days that these words name; they stand for those of the query.
        names: Those of the asker that are known here.
        named: Those of each other person whom the query, or the talk before it, names.
        stands: False for what says nothing against the words of others: a stranger's.
        texts: The budget counts a hit's line in this language, as a turn is told it; None: its
            preview alone.
        complete: Adds what such a line tells of a hit's speakers.
        in_talk: The query is a person's message, not a search: it may ask for nothing.
    """

    query: str
    scope_filter: ScopeFilter
    limit: int
    token_budget: int
    asker: Actor | None = None
    days: int = 0
    context: Sequence[ContextLine] = ()
    in_talk: bool = False
    topic: Topic | None = None
    on: str = ""
    names: Sequence[str] = ()
    named: Sequence[Sequence[str]] = ()
    stands: Callable[[Passage], bool] = lambda _: True
    texts: Texts | None = None
    complete: Callable[[Hit], Hit] = lambda hit: hit

    def cost(self, hit: Hit) -> int:
        """Estimated tokens of what is told of a hit."""
        return hit.tokens if self.texts is None else line_tokens(self.complete(hit), self.texts)


class Course:
    """How one recall goes: milliseconds by stage, what could not answer, whose order it is."""

    def __init__(self) -> None:
        self.begun = self._since = time.perf_counter()
        self.milliseconds: dict[str, float] = {}
        self.notes: list[str] = []
        self.reranker = ""

    def lap(self, stage: str) -> None:
        """The time since the last lap went into this stage."""
        now = time.perf_counter()
        self.milliseconds[stage] = self.milliseconds.get(stage, 0.0) + (now - self._since) * 1000
        self._since = now

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.perf_counter() - self.begun
