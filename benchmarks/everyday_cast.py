"""A cast: people, places, days of talk, and questions that were written before anyone looked.

A JSON file of the shape
`language, start, end, timezone,
 people [{name, id, admin}],
 places {name: {kind: group|private, id, scope?}},
 talk [{at, who, where, said, reply, small_talk?,
        learned: [{judgment, kind, tags?, asks?, replaces?}]}],
 questions [{who, where, original, paraphrase, must, must_not}],
 unrelated [questions],
 secrets [{said_by, words, never_in: [places]}]`.
`replaces` are words of the older memory that a new one takes the place of. All of `must` has to
stand in what is injected for an answer to count; `must_not` is outdated. Only names, times and
words have to be there; a key that nobody knows is told in a warning, what is wrong in an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cast_fields import BadCast, Part, say

from astrbot_plugin_scoped_memory.llm_memory import Actor, ConversationId, ConversationKind
from astrbot_plugin_scoped_memory.llm_memory.errors import InvalidScope
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope

ADAPTER = "aiocqhttp"


@dataclass(frozen=True)
class Place:
    """A conversation, and the scope that the owner has mapped it to; empty for none."""

    where: ConversationId
    scope: str

    @property
    def is_private(self) -> bool:
        return self.where.kind is ConversationKind.PRIVATE

    def of(self, speaker: Actor) -> Place:
        """A private chat is with whoever speaks there; its own number may be another."""
        if not self.is_private:
            return self
        return replace(
            self, where=replace(self.where, peer=speaker.person.removeprefix(f"{ADAPTER}:"))
        )


@dataclass(frozen=True)
class Talk:
    """One turn. ``learned`` is what a good reader makes of it."""

    at: datetime
    who: str
    where: str
    said: str
    reply: str
    learned: tuple[dict[str, Any], ...]
    small_talk: bool


@dataclass(frozen=True)
class Question:
    """Asked in the words that were used, and in other words."""

    who: str
    where: str
    original: str
    paraphrase: str
    must: tuple[str, ...]
    must_not: tuple[str, ...]


@dataclass(frozen=True)
class Secret:
    """Words that must not be told in these places."""

    said_by: str
    words: str
    never_in: tuple[str, ...]


@dataclass(frozen=True)
class Cast:
    """A whole cast, parsed."""

    language: str
    start: datetime
    end: datetime
    zone: tzinfo
    people: dict[str, Actor]
    places: dict[str, Place]
    talk: tuple[Talk, ...]
    questions: tuple[Question, ...]
    unrelated: tuple[str, ...]
    secrets: tuple[Secret, ...]

    @property
    def texts(self) -> str:
        """The language of the words around what is injected."""
        return "en-US" if self.language.lower().startswith("en") else "zh-CN"

    @property
    def actors(self) -> list[Actor]:
        """Everybody."""
        return list(self.people.values())

    @property
    def scope_map(self) -> dict[str, str]:
        """What the owner has put into the panel."""
        return {place.where.umo: place.scope for place in self.places.values() if place.scope}

    @property
    def first(self) -> tuple[Actor, Place]:
        """Who asks the unrelated questions, and where: as the first question is asked."""
        if not self.questions:
            return self.actors[0], next(iter(self.places.values()))
        one = self.questions[0]
        return self.actor(one.who), self.places[one.where]

    def actor(self, name: str) -> Actor:
        """Raises KeyError for nobody of the cast."""
        return self.people[name]


def read_cast(path: Path) -> Cast:
    """Raises BadCast."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise BadCast(f"{path.name}: {error}") from error
    return parse_cast(raw, path.name)


def parse_cast(raw: Any, name: str = "cast", warn: Callable[[str], None] | None = None) -> Cast:
    """``warn`` is told of keys that mean nothing here. Raises BadCast."""
    part = Part(raw, name, "", warn or say)
    everybody = part.parts("people")
    people = {
        one.text("name"): Actor(f"{ADAPTER}:{one.text('id')}", one.text("name"), one.flag("admin"))
        for one in everybody
    }
    if len(people) < len(everybody):
        raise BadCast(f"{name}: two people of one name")
    places = {key: _place(one) for key, one in part.named("places")}
    if not people or not places:
        raise BadCast(f"{name}: a cast needs people and places")
    zone = _zone(part)
    talk = tuple(sorted((_talk(one, zone) for one in part.parts("talk")), key=lambda one: one.at))
    questions = tuple(map(_question, part.parts("questions")))
    secrets = tuple(
        Secret(one.text("said_by", ""), one.text("words"), one.texts("never_in"))
        for one in part.parts("secrets")
    )
    for at in (*talk, *questions):
        if at.who not in people or at.where not in places:
            raise BadCast(f"{name}: nobody called {at.who!r}, or no place {at.where!r}")
    for secret in secrets:
        if secret.said_by and secret.said_by not in people:
            raise BadCast(f"{name}: nobody called {secret.said_by!r}, who said a secret")
        if unknown := [where for where in secret.never_in if where not in places]:
            raise BadCast(f"{name}: no place {unknown[0]!r}, where a secret must not be told")
    moments = [one.at for one in talk]
    if not moments and not (part.has("start") and part.has("end")):
        raise BadCast(f"{name}: without talk a cast needs start and end")
    for at in (*talk, *questions):
        places[at.where] = places[at.where].of(people[at.who])
    start = part.moment("start", zone) if part.has("start") else moments[0]
    end = part.moment("end", zone, last=True) if part.has("end") else moments[-1]
    return Cast(
        language=part.text("language", "zh"),
        start=min([start, *moments]),
        end=max([end, *moments]),
        zone=zone,
        people=people,
        places=places,
        talk=talk,
        questions=questions,
        unrelated=part.texts("unrelated"),
        secrets=secrets,
    )


def _zone(part: Part) -> tzinfo:
    name = part.text("timezone", "Asia/Shanghai")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise part.wrong(f"no time zone {name!r}") from error


def _place(given: Part) -> Place:
    number, name = given.text("id"), given.text("kind").casefold()
    if name not in ("group", "private"):
        raise given.wrong(f"'kind' should be group or private, is {name!r}")
    is_group = name == "group"
    kind = ConversationKind.GROUP if is_group else ConversationKind.PRIVATE
    where = ConversationId(
        umo=f"{ADAPTER}:{kind}:{number}",
        adapter=ADAPTER,
        account=ADAPTER,
        kind=kind,
        peer=None if is_group else number,
        group=number if is_group else None,
        persona="",
    )
    scope = given.text("scope", "")
    if scope:
        try:
            Scope.parse(scope)
        except InvalidScope as error:
            raise given.wrong(f"'scope' is no legal name: {scope!r}") from error
    return Place(where, scope)


def _talk(given: Part, zone: tzinfo) -> Talk:
    return Talk(
        at=given.moment("at", zone),
        who=given.text("who"),
        where=given.text("where"),
        said=given.text("said"),
        reply=given.text("reply", ""),
        learned=tuple(map(_lesson, given.parts("learned"))),
        small_talk=given.flag("small_talk"),
    )


def _lesson(given: Part) -> dict[str, Any]:
    lesson: dict[str, Any] = {"judgment": given.text("judgment")}
    lesson["kind"] = given.text("kind", "knowledge")
    if tags := given.texts("tags"):
        lesson["tags"] = list(tags)
    if asks := given.texts("asks"):
        lesson["asks"] = list(asks)
    if replaces := given.text("replaces", ""):
        lesson["replaces"] = replaces
    return lesson


def _question(given: Part) -> Question:
    original = given.text("original")
    if not given.texts("must"):
        given.warn("'must' is empty, so that silence counts for an answer")
    return Question(
        who=given.text("who"),
        where=given.text("where"),
        original=original,
        paraphrase=given.text("paraphrase", original),
        must=given.texts("must"),
        must_not=given.texts("must_not"),
    )
