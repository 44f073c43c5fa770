"""A question as it is read before anything is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from ..index.lexical_port import LexicalQuery
from ..models.scope import ScopeFilter
from ..models.turns import NO_TALK, TalkUsed
from ..scopes.rules.scope_resolution import ids_of
from ..text.dates.expressions import TimeSpan, days_named, find_times, towards
from ..text.normalising import clean
from ..text.scripts import Language, fold, language_of
from ..text.stated import CLAUSE, asks
from .request import RecallRequest
from .rules.salience import is_first_person, without_times
from .rules.talk import Talk, talk_for

MAX_QUERY = 800
"""Characters: what is looked for costs time in proportion to its length."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One question, read.

    Attributes:
        request: What is asked within its filter.
        text: Cleaned, bounded.
        asker: The ids of who asks of himself; none in any other question.
        times: The times that it names.
        words: What the index of words is asked.
        subject: The text without them.
        embedded: What an embedder is asked: the text, behind whom it points to.
        used: What of that, for the trace.
        dense_weight: How far the embedder is trusted for the language.
        asks: It is a question, or a request to be told, as far as its form tells.
    """

    request: RecallRequest
    text: str
    asker: frozenset[str]
    now: datetime
    times: tuple[TimeSpan, ...]
    words: LexicalQuery
    subject: str
    language: Language | None
    dense_weight: float
    embedded: str = ""
    used: TalkUsed = NO_TALK
    asks: bool = True

    @property
    def scope_filter(self) -> ScopeFilter:
        return self.request.scope_filter

    @property
    def in_talk(self) -> bool:
        return self.request.in_talk


def readable(query: str) -> str:
    """What can be asked of a message: of a long one the beginning and the end, for a question
    stands at either. Empty where nothing in it is visible."""
    text = clean(query)
    if len(text) <= MAX_QUERY:
        return text
    return f"{text[: MAX_QUERY // 2]} {text[-MAX_QUERY // 2 :]}"


def read_question(
    request: RecallRequest,
    now: datetime,
    weight: Callable[[Language | None], float],
    links: Mapping[str, str],
) -> Ask:
    """``request.query`` is readable; ``weight`` tells the embedder's share for a language;
    ``links`` who is the same person."""
    query, asker, context = request.query, request.asker, request.context
    named = find_times(query, now, towards(query))
    look = towards(f"{request.on} {query}")
    times = days_named(request.on, now, look) if request.on else named
    subject = without_times(query, named)
    talk = talk_for(query, subject, context, now) if context else Talk()
    text = f"{talk.topic} {query}".strip()
    before = without_times(talk.topic, find_times(talk.topic, now))
    subject = f"{before} {subject}".strip()
    language = language_of(text)
    own = bool(asker) and is_first_person(query)
    of_oneself = any(asks(one) and is_first_person(one) for one in CLAUSE.findall(query))
    names = tuple(filter(None, request.names)) if of_oneself else ()
    persons = [some for some in request.named if some[0] in fold(text)]
    called = map(re.escape, (some[0] for some in persons))
    words = LexicalQuery(
        " ".join((text, *names, *chain.from_iterable(persons))),
        re.sub("|".join(called) or "$", " ", subject, flags=re.IGNORECASE),
        talk.around,
        talk.used.carried,
        persons,
        names,
    )
    return Ask(
        request=request,
        text=text,
        asker=ids_of(asker.person, links) if asker and own else frozenset(),
        now=now,
        times=times,
        words=words,
        subject=subject,
        language=language,
        dense_weight=weight(language),
        embedded=f"{talk.pointed} {query}".strip(),
        used=talk.used,
        asks=asks(query),
    )
