"""A question as it is read before anything is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain

from ..index.lexical_port import LexicalQuery
from ..models.scope import ScopeFilter
from ..models.turns import NO_TALK, ContextLine, TalkUsed, Voice
from ..scopes.rules.scope_resolution import ids_of
from ..text.dates.expressions import TimeSpan, Towards, days_named, find_times, towards
from ..text.normalising import clean
from ..text.scripts import Language, fold, language_of
from ..text.stated import CLAUSE, asks
from .request import RecallRequest
from .rules.questions.days import asked_of_days
from .rules.salience import is_first_person, without_times
from .rules.talk import LONGEST_AGO, Talk, is_empty, talk_for

MAX_QUERY = 800
"""Characters: what is looked for costs time in proportion to its length."""


_NEXT = re.compile(
    r"^\W*(?:and|(?:what|how)\sabout)?\W*the\s(?:(day)|week)\safter\W*$|"
    "^那?(?:(第二天|后一天|次日|隔天)|[再后]下?一?个?(?:周|星期|礼拜))呢?\\W*$",
    re.IGNORECASE,
)
"""The days after those that were asked for last."""


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
    look, before = towards(query), _before(context, now)
    if look is Towards.NEAR and is_empty(without_times(query, find_times(query, now))):
        look = towards(before)  # and Wednesday?
    named = find_times(query, now, look)
    subject = without_times(query, named)
    talk = talk_for(query, subject, context, now) if context else Talk()
    times = named
    if request.on:
        times = days_named(request.on, now, towards(f"{request.on} {query}"))
    elif not named and (talk.used.carried or _NEXT.search(query)):
        times = _times_of_talk(talk.topic or before, query, now)
        subject = "" if times else subject
    text = f"{talk.topic} {query}".strip()
    topic = without_times(talk.topic, find_times(talk.topic, now))
    subject = f"{topic} {subject}".strip()
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


def _before(context: Sequence[ContextLine], now: datetime) -> str:
    """What the asker said last, empty for what was said too long ago."""
    lines = [one for one in context if one.voice is Voice.ASKER]
    return lines[-1].text if lines and abs(now - lines[-1].at) <= LONGEST_AGO else ""


def _times_of_talk(before: str, query: str, now: datetime) -> tuple[TimeSpan, ...]:
    """The days for which plans were asked before, or those after them; none where something else
    was asked."""
    spans = find_times(before, now, towards(before))
    asked = asked_of_days(without_times(before, spans), asks=True)
    if not spans or asked is None or not asked.all:
        return ()
    if (after := _NEXT.search(query)) is None:
        return spans
    far = timedelta(days=1 if after[1] or after[2] else 7)
    return tuple(replace(one, start=one.start + far, end=one.end + far) for one in spans)
