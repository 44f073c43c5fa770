"""A cast: people, places, days of talk, and questions that were written before anyone looked.

A JSON file of the shape
`language, start, end, timezone,
 people [{name, id, admin}],
 places {name: {kind: group|private, id, scope?}},
 talk [{at, who, where, said, reply, learned: [{judgment, kind, tags?, replaces?}], small_talk?}],
 questions [{who, where, original, paraphrase, must, must_not}],
 unrelated [questions],
 secrets [{said_by, words, never_in: [places]}]`.
`replaces` are words of the older memory that a new one takes the place of. All of `must` has to
stand in what is injected for an answer to count; `must_not` is outdated.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from astrbot_plugin_scoped_memory.llm_memory import Actor, ConversationId, ConversationKind

ADAPTER = "aiocqhttp"


@dataclass(frozen=True)
class Place:
    """A conversation, and the scope that the owner has mapped it to; empty for none."""

    where: ConversationId
    scope: str

    @property
    def is_private(self) -> bool:
        return self.where.kind is ConversationKind.PRIVATE


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
    zone: ZoneInfo
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
        one = self.questions[0]
        return self.actor(one.who), self.places[one.where]

    def actor(self, name: str) -> Actor:
        """Raises KeyError for nobody of the cast."""
        return self.people[name]


def read_cast(path: Path) -> Cast:
    """Raises KeyError or ValueError where something is missing or contradicts itself."""
    raw = json.loads(path.read_text(encoding="utf-8"))
    zone = ZoneInfo(raw["timezone"])
    people = {
        one["name"]: Actor(f"{ADAPTER}:{one['id']}", one["name"], bool(one.get("admin")))
        for one in raw["people"]
    }
    places = {name: _place(given) for name, given in raw["places"].items()}
    talk = sorted((_talk(one, zone) for one in raw["talk"]), key=lambda one: one.at)
    cast = Cast(
        language=raw["language"],
        start=_moment(raw["start"], zone),
        end=_moment(raw["end"], zone, last=True),
        zone=zone,
        people=people,
        places=places,
        talk=tuple(talk),
        questions=tuple(_question(one) for one in raw["questions"]),
        unrelated=tuple(raw.get("unrelated", ())),
        secrets=tuple(
            Secret(one["said_by"], one["words"], tuple(one["never_in"]))
            for one in raw.get("secrets", ())
        ),
    )
    for one in (*cast.talk, *cast.questions):
        if one.who not in people or one.where not in places:
            raise ValueError(f"{path.name}: nobody called {one.who}, or no place {one.where}")
    return cast


def _place(given: dict[str, Any]) -> Place:
    number = str(given["id"])
    is_group = given["kind"] == "group"
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
    return Place(where, given.get("scope") or "")


def _talk(given: dict[str, Any], zone: ZoneInfo) -> Talk:
    return Talk(
        at=_moment(given["at"], zone),
        who=given["who"],
        where=given["where"],
        said=given["said"],
        reply=given.get("reply") or "",
        learned=tuple(given.get("learned") or ()),
        small_talk=bool(given.get("small_talk")),
    )


def _question(given: dict[str, Any]) -> Question:
    return Question(
        who=given["who"],
        where=given["where"],
        original=given["original"],
        paraphrase=given["paraphrase"],
        must=tuple(given["must"]),
        must_not=tuple(given.get("must_not") or ()),
    )


def _moment(text: str, zone: ZoneInfo, *, last: bool = False) -> datetime:
    """In the cast's zone, unless it says another; a bare date is its beginning, or its end."""
    moment = datetime.fromisoformat(text)
    if last and len(text) == len("2026-01-01"):
        moment = moment.replace(hour=23, minute=59)
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)
