"""Tells of each hit who its speaker is, as far as the name alone leaves that open."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.bylines import account_mark, claims_a_role, folded_name, names_in
from ..catalogue.rules.tasks import is_task
from ..catalogue.speaker_index import SpeakerIndex
from ..catalogue.unread_turns import UnreadTurns
from ..errors import StateUnavailable
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import Provenance, Source, StoredMemory
from ..models.passages import Key, Passage
from ..models.recall import Byline, Hit
from ..models.scope import Scope, ScopeFilter
from ..primer.rules.primer import Participants
from ..recall.rules.salience import is_first_person
from ..runtime.identifiers import Clock
from ..storage.state_store import SqliteStateStore
from ..text.third_person import third_person


@dataclass(eq=False)
class Bylines:
    """``_linked``: all ids of a person, given one of them. ``_is_admin``: by a person's id."""

    _catalogue: Catalogue
    _unread: UnreadTurns
    _state: SqliteStateStore
    _linked: Callable[[str], Collection[str]]
    _is_admin: Callable[[str], bool]
    _clock: Clock
    _met: SpeakerIndex = field(default_factory=SpeakerIndex)
    """The names under which persons have spoken, whatever was kept of it."""
    _admins: dict[str, set[str]] = field(default_factory=dict)
    """The admins' accounts by the folded names under which they have spoken."""

    def open(self) -> None:
        """Read under which names persons have spoken, and where. Blocks."""
        try:
            seen = self._state.senders()
        except StateUnavailable as error:
            logger.warning("admin_names_unread", error=error)
            return
        for one in seen:
            if one.person and one.name:
                self._meet(one.person, one.name, one.scope, self.is_admin(one.person, None))

    def meet(self, actor: Actor, scope: str) -> None:
        """Note under which name a person has spoken. ``scope``: empty where nothing is kept."""
        if actor.spoke and actor.person and actor.name:
            self._meet(actor.person, actor.name, scope, actor.admin)

    def _meet(self, person: str, name: str, scope: str, admin: bool) -> None:
        if scope:
            self._met.hear(person, name, scope, self._clock())
        if admin:
            self._admins.setdefault(folded_name(name), set()).add(person)

    @property
    def _heard(self) -> tuple[SpeakerIndex, ...]:
        return self._catalogue.speakers, self._unread.speakers, self._met

    def names(self, person: str, scope_filter: ScopeFilter) -> tuple[str, ...]:
        """Under which names a person was heard where the filter reads, the newest first."""
        persons, places = self._linked(person) if person else (), scope_filter.names
        heard = dict[str, datetime]()
        for speakers in self._heard:
            for name, at in speakers.names(persons, places).items():
                heard[name] = max(heard.get(name, at), at)
        return tuple(sorted(heard, key=lambda name: heard[name], reverse=True))

    def named(self, text: str, scope_filter: ScopeFilter) -> list[tuple[str, ...]]:
        """The names of each person with several, one of which, the first, stands in a folded text;
        not of one whose name another bears there."""
        found: list[tuple[str, ...]] = []
        for name in names_in(text):
            people = set[str]()
            for speakers in self._heard:
                people |= speakers.bearers(name.replace(" ", ""), scope_filter.names)
            if people and people <= {*self._linked(person := min(people))}:
                names = self.names(person, scope_filter)
                found += [(name, *names)] if len(names) > 1 else []
        return found

    def reader(self, scope_filter: ScopeFilter, conversation: str, asker: Actor | None) -> Reader:
        """For one who reads hits in a conversation."""
        return Reader(self, scope_filter, conversation, asker)

    def participants(self, scope: Scope, conversation: str, asker: Actor | None) -> Participants:
        """The people of a conversation: who asks, who has spoken in it, and, unless it is public,
        in its scope."""
        own = "" if scope.is_public else scope.name
        people = self._catalogue.speakers.people(own, conversation)
        people |= self._unread.speakers.people(own, conversation)
        people |= {asker.person} if asker is not None else set()
        return Participants(frozenset(chain.from_iterable(map(self._linked, people))), conversation)

    def stored(self, hit: Hit) -> StoredMemory | None:
        """The memory, or unread turn, that a hit shows; None for a note, and for what is gone."""
        key = Key(hit.scope_name, hit.memory_id)
        return self._catalogue.at(key) or self._unread.get(key)

    def is_admin(self, person: str, asker: Actor | None) -> bool:
        """True if the account is an admin's."""
        asks = asker is not None and asker.admin and asker.person == person
        return bool(person) and (asks or self._is_admin(person))

    def asks(self, person: str, asker: Actor | None) -> bool:
        """True if it is the person who asks."""
        return asker is not None and asker.person in self._linked(person)

    def others(
        self, origin: Provenance, scope_filter: ScopeFilter, asker: Actor | None
    ) -> set[str]:
        """The other persons whom the reader may take the speaker for: who bears the same name, and
        is read of or asks here, or is an admin."""
        name = folded_name(origin.who)
        found, anywhere = set[str](), set(self._admins.get(name, ()))
        for speakers in (self._catalogue.speakers, self._unread.speakers):
            found |= speakers.bearers(name, scope_filter.names)
            anywhere |= speakers.bearers(name)
        found |= {person for person in anywhere if self.is_admin(person, asker)}
        if asker is not None and folded_name(asker.name) == name:
            found.add(asker.person)
        return found - {"", *self._linked(origin.account)}


@dataclass(slots=True)
class Reader:
    """What is asked for each hit of one answer; the company only where it matters."""

    bylines: Bylines
    scope_filter: ScopeFilter
    conversation: str
    asker: Actor | None
    participants: Participants | None = None

    def stands(self, passage: Passage) -> bool:
        """False for what a stranger says, but of oneself where all is public and nobody else bears
        the name, and for whoever else bears the asker's."""
        if not isinstance(passage, StoredMemory) or passage.memory.provenance.vouched:
            return True
        origin, text = passage.memory.provenance, passage.memory.judgment
        others = self.bylines.others(origin, self.scope_filter, self.asker)
        if self.asker is not None and self.asker.person in others:
            return False
        if not self.scope_filter.scopes[0].is_public:
            return not self._is_stranger(passage)
        of_oneself = is_first_person(text) or bool(origin.who and text.startswith(origin.who))
        return not self._is_stranger(passage) or (of_oneself and not others)

    def complete(self, hit: Hit) -> Hit:
        """The hit with what its reader has to know of its speakers."""
        return replace(self._signed(hit), also=tuple(map(self._signed, hit.also)))

    def _signed(self, hit: Hit) -> Hit:
        stored = self.bylines.stored(hit)
        if stored is None:
            return hit
        memory, origin = stored.memory, stored.memory.provenance
        if origin.who and origin.source is not Source.AGENT:
            (who, *_) = (*self.bylines.names(origin.account, self.scope_filter), origin.who)
            origin = replace(origin, who=who)
            hit = hit if memory.model_worded else replace(hit, who=who)
        # Not what an agent stored on an admin's behalf, nor what a model has made up.
        reworded = memory.reworded
        if memory.speaker and not reworded and not self.bylines.asks(memory.speaker, self.asker):
            plain = memory.quoted or hit.also or is_task(stored)
            hit = hit if plain else replace(hit, preview=third_person(hit.preview, hit.who))
        if not reworded and self.bylines.is_admin(memory.speaker, self.asker):
            return replace(hit, byline=Byline(admin=True))
        account = ""
        if origin.who:
            others = self.bylines.others(origin, self.scope_filter, self.asker)
            if others or claims_a_role(origin.who):
                account = account_mark(origin.account, others)
        retold = origin.who if memory.model_worded else ""
        elsewhere = self._is_stranger(stored)
        return replace(hit, byline=Byline(False, account, elsewhere, reworded, retold))

    def _is_stranger(self, stored: StoredMemory) -> bool:
        if not stored.scope.is_public:
            return False
        if self.participants is None:
            own = self.scope_filter.scopes[0]
            self.participants = self.bylines.participants(own, self.conversation, self.asker)
        return not self.participants.may_be_shown(stored)
