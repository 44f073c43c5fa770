"""Who has spoken where, and under which names; and what the reader of a hit has to know of its
speaker, as far as the name, which anybody can take, leaves that open."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from ..catalogue.rules.bylines import account_mark, claims_a_role, folded_name, names_in
from ..catalogue.rules.tasks import is_task
from ..catalogue.speaker_index import SpeakerIndex
from ..errors import InvalidConversationId, StateUnavailable
from ..log import logger
from ..models.conversation import Actor, ConversationId, ConversationKind
from ..models.data_models import Source, StoredMemory
from ..models.passages import Key, Passage, place_name
from ..models.recall import PRIVATE, UNKNOWN, Byline, Hit
from ..models.scope import PUBLIC_NAME, Scope, ScopeFilter
from ..recall.patterns import says
from ..scopes.access import View
from ..text.third_person import third_person

if TYPE_CHECKING:
    from .parts import Parts


class Bylines:
    """All speakers: of what is kept of their words, and whoever was met."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._kept = (parts.catalogue.speakers, parts.unread.speakers)
        self._met = SpeakerIndex()
        self.titles = dict[str, str]()
        """Of groups, by what the owner's map calls them."""

    def open(self) -> None:
        """Read under which names persons have spoken, and where. Blocks."""
        try:
            for one in self._parts.state.senders():
                self.meet(Actor(one.person, one.name), one.scope)
                if not one.peer:
                    self.titles[one.umo] = one.name
        except StateUnavailable as error:
            logger.warning("admin_names_unread", error=error)

    def meet(self, actor: Actor, scope: str, where: ConversationId | None = None) -> None:
        """Note under which name a person has spoken. ``scope``: empty where nothing is kept."""
        if where is not None and where.title:
            self.titles[where.umo] = where.title
        if actor.spoke and actor.person and actor.name:
            self._met.hear(actor.person, actor.name, scope, self._parts.clock())

    def names(self, person: str, scope_filter: ScopeFilter) -> tuple[str, ...]:
        """Under which names a person was heard where the filter reads, the newest first."""
        persons, heard = self._parts.book.ids_of(person), dict[str, datetime]()
        for speakers in (*self._kept, self._met):
            for name, at in speakers.names(persons, scope_filter.names).items():
                heard[name] = max(heard.get(name, at), at)
        return tuple(sorted(heard, key=lambda name: heard[name], reverse=True))

    def named(self, text: str, scope_filter: ScopeFilter) -> list[tuple[str, ...]]:
        """The names of each person with several, one of which, the first, stands in a folded text;
        not of one whose name another bears there."""
        found: list[tuple[str, ...]] = []
        for name in names_in(text):
            people = self.bearers(name.replace(" ", ""), scope_filter.names, met=True)
            if people and people <= {*self._parts.book.ids_of(person := min(people))}:
                names = self.names(person, scope_filter)
                found += [(name, *names)] if len(names) > 1 else []
        return found

    def bearers(self, name: str, places: Collection[str] | None, *, met: bool) -> set[str]:
        """Who spoke under a folded name, in any of the places or anywhere; with ``met`` also of
        whose words nothing is kept."""
        heard = (*self._kept, self._met) if met else self._kept
        return set[str]().union(*(speakers.bearers(name, places) for speakers in heard))

    def participants(self, scope: Scope, conversation: str, asker: Actor) -> frozenset[str]:
        """The ids of the people of a conversation: who asks, who has spoken in it, and, unless it
        is public, in its scope."""
        own = "" if scope.is_public else scope.name
        people = {asker.person}.union(*(one.people(own, conversation) for one in self._kept))
        return frozenset(chain.from_iterable(map(self._parts.book.ids_of, people)))


@dataclass(eq=False)
class Reader:
    """One who reads hits inside a view."""

    parts: Parts
    view: View

    def stands(self, passage: Passage) -> bool:
        """False for what a stranger says, but of oneself where all is public and nobody else bears
        the name, and for whoever else bears the asker's."""
        if not isinstance(passage, StoredMemory) or passage.memory.provenance.vouched:
            return True
        origin, text = passage.memory.provenance, passage.memory.judgment
        others = self._others(origin.who, origin.account)
        if self.view.who.person in others:
            return False
        if not self._is_stranger(passage):
            return True
        of_oneself = says("first_person", text) or bool(origin.who and text.startswith(origin.who))
        return self.view.seen.scopes[0].is_public and of_oneself and not others

    def complete(self, hit: Hit) -> Hit:
        """A hit, and what stands in its line, with what is to be known of the speakers."""
        hit = replace(hit, also=tuple(map(self.complete, hit.also)))
        # One's own words need no voucher. Coding agents are many programs under one account: what
        # one of them logged is no other's own.
        if hit.unvouched and not self.view.who.is_agent and self._is_asker(hit.person):
            hit = replace(hit, unvouched=False)
        key = Key(hit.scope_name, hit.memory_id)
        stored = self.parts.catalogue.at(key) or self.parts.unread.get(key)
        if stored is None:  # a note, or gone
            return hit
        memory, origin = stored.memory, stored.memory.provenance
        who, reworded = origin.who, memory.reworded
        if who and origin.source is not Source.AGENT:
            (who, *_) = (*self.parts.bylines.names(origin.account, self.view.seen), who)
            hit = hit if memory.model_worded else replace(hit, who=who)
        if memory.speaker and not reworded and not self._is_asker(memory.speaker):
            plain = memory.quoted or hit.also or is_task(stored)
            hit = hit if plain else replace(hit, preview=third_person(hit.preview, hit.who))
        heard, account = self._heard_in(stored), ""
        # Not what an agent stored on an admin's behalf, nor what a model has made up.
        if not reworded and self._is_admin(memory.speaker):
            return replace(hit, byline=Byline(admin=True, heard=heard))
        others = self._others(who, origin.account) if who else set()
        if others or claims_a_role(who):
            account = account_mark(origin.account, others)
        retold = who if memory.model_worded else ""
        elsewhere = self._is_stranger(stored)
        return replace(hit, byline=Byline(False, account, elsewhere, reworded, retold, heard))

    def _is_asker(self, person: str) -> bool:
        return self.view.who.person in self.parts.book.ids_of(person)

    def _is_admin(self, person: str) -> bool:
        asker = self.view.who
        asks = asker.admin and asker.person == person
        return bool(person) and (asks or self.parts.is_admin(person))

    def _others(self, who: str, account: str) -> set[str]:
        """The other persons whom the reader may take the speaker for: who bears the same name, and
        is read of or asks here, or is an admin."""
        name, asker, bearers = folded_name(who), self.view.who, self.parts.bylines.bearers
        found = bearers(name, self.view.seen.names, met=False)
        found |= set(filter(self._is_admin, bearers(name, None, met=True)))
        found |= {asker.person} if folded_name(asker.name) == name else set()
        return found - {"", *self.parts.book.ids_of(account)}

    def _heard_in(self, stored: StoredMemory) -> str:
        """As ``Byline.heard``."""
        umo = stored.memory.provenance.conversation
        own = stored.scope == self.view.writes and not stored.scope.is_public
        if not own or umo in ("", self.view.where.umo):
            return ""
        try:
            where = ConversationId.parse(umo)
        except InvalidConversationId:
            return ""
        if where.kind is ConversationKind.GROUP:
            # A platform may have the member in a group's session, who is not to be named.
            number = where.session if where.session.isdecimal() else UNKNOWN
            return self.parts.bylines.titles.get(umo) or number
        return PRIVATE if where.kind is ConversationKind.PRIVATE else ""

    @cached_property
    def _company(self) -> frozenset[str]:
        view = self.view
        return self.parts.bylines.participants(view.seen.scopes[0], view.where.umo, view.who)

    def _is_stranger(self, stored: StoredMemory) -> bool:
        """Whether a stranger told it to the bot in public, in another conversation: none of these
        people, whom no admin vouches for; and nothing that was written by hand, or imported without
        a speaker."""
        origin = stored.memory.provenance
        known = origin.vouched or origin.conversation == self.view.where.umo
        if place_name(stored) != PUBLIC_NAME or known or stored.memory.speaker in self._company:
            return False
        signed = origin.person or origin.who or origin.conversation
        return bool(signed) or origin.source is Source.REFLECTION
