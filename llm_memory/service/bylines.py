"""Tells of each hit who its speaker is, as far as the name alone leaves that open."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import chain

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.bylines import account_mark, claims_a_role, folded_name, names_in
from ..catalogue.rules.tasks import is_task
from ..catalogue.speaker_index import SpeakerIndex
from ..catalogue.unread_turns import UnreadTurns
from ..errors import InvalidConversationId, StateUnavailable
from ..log import logger
from ..models.conversation import Actor, ConversationId, ConversationKind
from ..models.data_models import Source, StoredMemory
from ..models.passages import Key, Passage
from ..models.recall import PRIVATE, UNKNOWN, Byline, Hit
from ..models.scope import Scope, ScopeFilter
from ..primer.models import Primer
from ..primer.rules.primer import Participants
from ..recall.patterns import says
from ..runtime.identifiers import Clock
from ..scopes.access import View
from ..storage.state_store import SqliteStateStore
from ..text.third_person import third_person


@dataclass(eq=False)
class Bylines:
    """Who has spoken where, and under which names. ``_linked``: all ids of a person, given one of
    them. ``_is_admin``: by a person's id."""

    _catalogue: Catalogue
    _unread: UnreadTurns
    _state: SqliteStateStore
    _linked: Callable[[str], Collection[str]]
    _is_admin: Callable[[str], bool]
    _clock: Clock

    def __post_init__(self) -> None:
        self._kept = (self._catalogue.speakers, self._unread.speakers)
        self._met = SpeakerIndex()  # whatever was kept of what they said
        self._titles = dict[str, str]()  # of groups, by what the owner's map calls them

    def open(self) -> None:
        """Read under which names persons have spoken, and where. Blocks."""
        try:
            for one in self._state.senders():
                self.meet(Actor(one.person, one.name), one.scope)
                if not one.peer:
                    self._titles[one.umo] = one.name
        except StateUnavailable as error:
            logger.warning("admin_names_unread", error=error)

    def meet(self, actor: Actor, scope: str, where: ConversationId | None = None) -> None:
        """Note under which name a person has spoken. ``scope``: empty where nothing is kept."""
        if where is not None and where.title:
            self._titles[where.umo] = where.title
        if actor.spoke and actor.person and actor.name:
            self._met.hear(actor.person, actor.name, scope, self._clock())

    def names(self, person: str, scope_filter: ScopeFilter) -> tuple[str, ...]:
        """Under which names a person was heard where the filter reads, the newest first."""
        persons, heard = self._linked(person) if person else (), dict[str, datetime]()
        for speakers in (*self._kept, self._met):
            for name, at in speakers.names(persons, scope_filter.names).items():
                heard[name] = max(heard.get(name, at), at)
        return tuple(sorted(heard, key=lambda name: heard[name], reverse=True))

    def named(self, text: str, scope_filter: ScopeFilter) -> list[tuple[str, ...]]:
        """The names of each person with several, one of which, the first, stands in a folded text;
        not of one whose name another bears there."""
        found: list[tuple[str, ...]] = []
        for name in names_in(text):
            people = self._bearers(name.replace(" ", ""), scope_filter.names, met=True)
            if people and people <= {*self._linked(person := min(people))}:
                names = self.names(person, scope_filter)
                found += [(name, *names)] if len(names) > 1 else []
        return found

    def participants(
        self, scope: Scope, conversation: str, asker: Actor | None = None
    ) -> Participants:
        """The people of a conversation: who asks, who has spoken in it, and, unless it is public,
        in its scope."""
        own = "" if scope.is_public else scope.name
        people = {asker.person} if asker is not None else set[str]()
        for speakers in self._kept:
            people |= speakers.people(own, conversation)
        return Participants(frozenset(chain.from_iterable(map(self._linked, people))), conversation)

    def _bearers(self, name: str, places: Collection[str] | None, *, met: bool) -> set[str]:
        heard = (*self._kept, self._met) if met else self._kept
        return set[str]().union(*(speakers.bearers(name, places) for speakers in heard))

    def is_admin(self, person: str, asker: Actor) -> bool:
        """True if the account is an admin's."""
        return bool(person) and ((asker.admin and asker.person == person) or self._is_admin(person))

    def is_of(self, person: str, asker: Actor) -> bool:
        """True if it is the person who asks."""
        return asker.person in self._linked(person)

    def others(self, who: str, account: str, view: View) -> set[str]:
        """The other persons whom the reader may take the speaker for: who bears the same name, and
        is read of or asks here, or is an admin."""
        name, asker = folded_name(who), view.who
        found = self._bearers(name, view.seen.names, met=False)
        anywhere = self._bearers(name, None, met=True)
        found |= {person for person in anywhere if self.is_admin(person, asker)}
        found |= {asker.person} if folded_name(asker.name) == name else set()
        return found - {"", *self._linked(account)}

    def place(self, stored: StoredMemory, view: View) -> str:
        """As ``Byline.heard``."""
        umo = stored.memory.provenance.conversation
        own = stored.scope == view.writes and not stored.scope.is_public
        if not own or umo in ("", view.where.umo):
            return ""
        try:
            where = ConversationId.parse(umo)
        except InvalidConversationId:
            return ""
        if where.kind is ConversationKind.GROUP:
            # A platform may have the member in a group's session, who is not to be named.
            number = where.session if where.session.isdecimal() else UNKNOWN
            return self._titles.get(umo) or number
        return PRIVATE if where.kind is ConversationKind.PRIVATE else ""

    def stored(self, key: Key) -> StoredMemory | None:
        """The memory, or unread turn; None for a note, and for what is gone."""
        return self._catalogue.at(key) or self._unread.get(key)


@dataclass(eq=False)
class Reader:
    """One who reads hits inside a view."""

    bylines: Bylines
    view: View

    def stands(self, passage: Passage) -> bool:
        """False for what a stranger says, but of oneself where all is public and nobody else bears
        the name, and for whoever else bears the asker's."""
        if not isinstance(passage, StoredMemory) or passage.memory.provenance.vouched:
            return True
        who, text = passage.memory.provenance.who, passage.memory.judgment
        others = self.bylines.others(who, passage.memory.provenance.account, self.view)
        if self.view.who.person in others:
            return False
        if not self._is_stranger(passage):
            return True
        of_oneself = says("first_person", text) or bool(who and text.startswith(who))
        return self.view.seen.scopes[0].is_public and of_oneself and not others

    def primer(self, primer: Primer) -> Primer:
        """A primer as it is told to the reader."""
        sections = (replace(one, hits=self.told(one.hits)) for one in primer.sections)
        return replace(primer, sections=tuple(sections))

    def told(self, hits: Iterable[Hit]) -> tuple[Hit, ...]:
        """The hits with what their reader has to know of their speakers."""
        return tuple(map(self.complete, hits))

    def complete(self, hit: Hit) -> Hit:
        """The same of one hit, and of what stands in its line."""
        bylines, asker, hit = self.bylines, self.view.who, replace(hit, also=self.told(hit.also))
        # One's own words need no voucher. Coding agents are many programs under one account: what
        # one of them logged is no other's own.
        if hit.unvouched and not asker.is_agent and bylines.is_of(hit.person, asker):
            hit = replace(hit, unvouched=False)
        if (stored := bylines.stored(Key(hit.scope_name, hit.memory_id))) is None:
            return hit
        memory, origin = stored.memory, stored.memory.provenance
        who, reworded = origin.who, memory.reworded
        if who and origin.source is not Source.AGENT:
            (who, *_) = (*bylines.names(origin.account, self.view.seen), who)
            hit = hit if memory.model_worded else replace(hit, who=who)
        if memory.speaker and not reworded and not bylines.is_of(memory.speaker, asker):
            plain = memory.quoted or hit.also or is_task(stored)
            hit = hit if plain else replace(hit, preview=third_person(hit.preview, hit.who))
        heard, account = bylines.place(stored, self.view), ""
        # Not what an agent stored on an admin's behalf, nor what a model has made up.
        if not reworded and bylines.is_admin(memory.speaker, asker):
            return replace(hit, byline=Byline(admin=True, heard=heard))
        if who:
            others = bylines.others(who, origin.account, self.view)
            if others or claims_a_role(who):
                account = account_mark(origin.account, others)
        retold = who if memory.model_worded else ""
        elsewhere = self._is_stranger(stored)
        return replace(hit, byline=Byline(False, account, elsewhere, reworded, retold, heard))

    @cached_property
    def _company(self) -> Participants:
        view = self.view
        return self.bylines.participants(view.seen.scopes[0], view.where.umo, view.who)

    def _is_stranger(self, stored: StoredMemory) -> bool:
        return stored.scope.is_public and not self._company.may_be_shown(stored)
