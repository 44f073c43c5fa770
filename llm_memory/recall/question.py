"""A question as it is read before anything is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

from ..index.records import WordQuery
from ..models.conversation import Actor
from ..models.data_models import Topic
from ..models.passages import Passage
from ..models.recall import Hit
from ..models.scope import ScopeFilter
from ..models.turns import ContextLine, Voice
from ..scopes.rules.scope_resolution import ids_of
from ..text.dates.expressions import TimeSpan, Towards, days_named, find_times, towards
from ..text.normalising import clean
from ..text.scripts import Language, fold, language_of, simplified
from ..text.stated import CLAUSE, asks
from .patterns import PATTERNS, says
from .rules.asked import (
    LONGEST_AGO,
    Asked,
    OfDays,
    Talk,
    asked_for,
    asked_of_days,
    is_empty,
    parts_of,
    talk_for,
    without_times,
)

WEEK: Final = 7
"""So many days are told each, where a question names them."""
MAX_QUERY: Final = 800
"""Characters: what is looked for costs time in proportion to its length."""


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """What is asked inside a scope filter that is resolved already.

    Attributes:
        asker: Who asks: 我 is that person.
        days: Of a question about days alone so many are told each, whatever the limit is.
        context: What was said before, the earliest first, in the view that the filter is of.
        in_talk: The query is a person's message, not a search: it may ask for nothing.
        topic: Only what stands in its files.
        on: Only what is of the days that these words name; they stand for those of the query.
        names: Those of the asker that are known here.
        named: Those of each other person whom the query, or the talk before it, names.
        stands: False for what says nothing against the words of others: a stranger's.
        complete: A hit with what the asker has to know of its speakers.
        conversation: Under whose id the recall is explained later.
        silence: Why nothing is looked up; empty where it is.
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
    complete: Callable[[Hit], Hit] = lambda hit: hit
    conversation: str = ""
    silence: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """One question, read.

    Attributes:
        text: Cleaned, bounded, behind what it carries of the talk.
        asker: The ids of who asks of himself; none in any other question.
        subject: The text without the times that it names.
        talk: What of the talk before belongs to it.
        asks: It is a question, or a request to be told, as far as its form tells; or the prompt of
            a coding agent, which is a task whatever its form.
        whole: What it is for, whole.
        of_days: What it asks of its days.
    """

    request: RecallRequest
    text: str
    asker: frozenset[str]
    now: datetime
    times: tuple[TimeSpan, ...]
    subject: str
    words: WordQuery
    language: Language | None
    talk: Talk
    asks: bool
    whole: Asked | None
    of_days: OfDays | None


def asked_text(query: str) -> str:
    """Cleaned, bounded, in one script; empty where nothing is visible in it."""
    text = simplified(clean(query))
    if len(text) > MAX_QUERY:  # a question stands at either end
        text = f"{text[: MAX_QUERY // 2]} {text[-MAX_QUERY // 2 :]}"
    return text


def read(request: RecallRequest, now: datetime, links: Mapping[str, str]) -> list[Ask]:
    """The questions of a message: itself, and its parts where it asks for several things, each
    with what was asked before it as context: a second clause asks as often for more of the same.
    None where nothing is visible in it. ``links`` tells who is the same person. From here on its
    words are in one script, as what is indexed."""
    if not (query := asked_text(request.query)):
        return []
    said = [replace(one, text=simplified(one.text)) for one in request.context]
    asked, parts = [replace(request, query=query, context=tuple(said))], parts_of(query)
    for part in parts if len(parts) > 1 else ():
        asked.append(replace(request, query=part, context=tuple(said)))
        said.append(ContextLine(Voice.ASKER, part, now))
    return [read_question(one, now, links) for one in asked]


def read_question(request: RecallRequest, now: datetime, links: Mapping[str, str]) -> Ask:
    """Of one that is cleaned and bounded."""
    query, asker = request.query, request.asker
    lately = (one for one in request.context if abs(now - one.at) <= LONGEST_AGO)
    before = "".join([one.text for one in lately if one.voice is Voice.ASKER][-1:])
    look = towards(query)
    if look is Towards.NEAR and is_empty(without_times(query, find_times(query, now))):
        look = towards(before)  # and Wednesday?
    times = find_times(query, now, look)
    subject = without_times(query, times)
    talk = talk_for(query, subject, request.context, now)
    if request.on:
        times = days_named(request.on, now, towards(f"{request.on} {query}"))
    elif not times and (talk.carried or PATTERNS["the_next"].search(query)):
        times = _times_of_talk(talk.topic or before, query, now)
        subject = "" if times else subject
    text = f"{talk.topic} {query}".strip()
    topic = without_times(talk.topic, find_times(talk.topic, now))
    subject = f"{topic} {subject}".strip()
    asking = [one for one in CLAUSE.findall(query) if asks(one)]
    of_oneself = any(says("first_person", one) for one in asking)
    names = tuple(filter(None, request.names)) if of_oneself else ()
    persons = [some for some in request.named if some[0] in fold(text)]
    called = "|".join(re.escape(some[0]) for some in persons) or "$"
    return Ask(
        request=request,
        text=text,
        asker=ids_of(asker.person, links) if asker and says("first_person", query) else frozenset(),
        now=now,
        times=times,
        subject=subject,
        words=WordQuery(
            " ".join((text, *names, *chain.from_iterable(persons))),
            re.sub(called, " ", subject, flags=re.IGNORECASE),
            talk.around,
            talk.carried,
            persons,
            names,
        ),
        language=language_of(text),
        talk=talk,
        asks=asks(query) or bool(asker and asker.is_agent),
        whole=_whole(subject, times, is_question=not request.in_talk or asks(query)),
        of_days=_of_days(subject, times, now, is_question=not request.in_talk or bool(asking)),
    )


def _whole(subject: str, times: Sequence[TimeSpan], *, is_question: bool) -> Asked | None:
    """What a question is for, whole; None for any other, and for one about days."""
    asked = asked_for(subject)
    if asked is None or (asked.topic is None and not asked.name and times):
        return None
    # 介绍一下大伟 asks whatever its form is; 我有任务 does not.
    names_person = asked.topic is None and asked.name and not asked.each
    return asked if is_question or names_person else None


def _of_days(
    subject: str, times: Sequence[TimeSpan], now: datetime, *, is_question: bool
) -> OfDays | None:
    today = now.date()
    ahead = all(span.start > today for span in times)
    past = all(span.start < today and span.end <= today for span in times)
    return asked_of_days(subject, asks=is_question, ahead=ahead, past=past) if times else None


def _times_of_talk(before: str, query: str, now: datetime) -> tuple[TimeSpan, ...]:
    """The days for which plans were asked before, or those after them; none for anything else."""
    spans = find_times(before, now, towards(before))
    asked = asked_of_days(without_times(before, spans), asks=True)
    if not spans or asked is None or not asked.all:
        return ()
    if (after := PATTERNS["the_next"].search(query)) is None:
        return spans
    far = timedelta(days=1 if after[1] or after[2] else 7)
    return tuple(replace(one, start=one.start + far, end=one.end + far) for one in spans)
