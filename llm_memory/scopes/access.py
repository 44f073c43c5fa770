"""What one conversation may see and do for one person, resolved once for each call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.pointers import pointed_id
from ..models.conversation import Actor, ConversationId, ConversationKind
from ..models.data_models import Refused, StoredMemory, absent
from ..models.deeds import Requester
from ..models.passages import place_name
from ..models.recall import OFF_THE_RECORD
from ..models.resolution import Pause, Resolution
from ..models.scope import PUBLIC, ROOT_NOTES, SHARED, Place, Scope, ScopeFilter
from ..models.settings import EngineSettings
from ..runtime.lifecycle import Lifespan
from ..text.normalising import content_hash
from .paused_conversations import PausedConversations
from .scope_book import ScopeBook

NOBODY: Final = Actor("", "", spoke=False)
NOTHING: Final = ScopeFilter(())


@dataclass(frozen=True, slots=True)
class View:
    """Made by ``Gate`` alone; a verb asks it, and nothing else, what it may do.

    Attributes:
        seen: What the conversation may be shown; nothing where it is refused.
        writes: Its own scope, or why it writes none.
        exports: What it may take away in a file: never more than its own scope and public, also
            while the scope filter is switched off, for a file stays when it is on again.
        pause: It is off the record.
    """

    where: ConversationId
    who: Actor
    resolution: Resolution
    seen: ScopeFilter
    writes: Scope | Refused
    exports: ScopeFilter | Refused
    pause: Pause | None
    _book: ScopeBook
    _catalogue: Catalogue

    @property
    def silence(self) -> str:
        """Why the bot looks nothing up here: a trace's note, empty where it does."""
        if self.resolution.refused:
            return "refused"
        return OFF_THE_RECORD if self.pause else ""

    @property
    def looked_up(self) -> ScopeFilter:
        """What the bot may look up by itself: nothing where it is to be silent."""
        return NOTHING if self.silence else self.seen

    @property
    def records(self) -> Scope | Refused:
        """Where what is said goes, or why it goes nowhere."""
        return Refused("off_the_record") if self.pause else self.writes

    @property
    def mark(self) -> str:
        """Of what the conversation sees: another one once that has changed; empty for nothing."""
        seen = self.seen
        return content_hash(repr((seen.names, seen.everything))) if seen.scopes else ""

    @property
    def scope_in_use(self) -> str:
        """``*`` for all, empty for public ones."""
        return "*" if self.seen.everything else self.resolution.name

    @property
    def changeable(self) -> tuple[Scope, ...]:
        """Of these something may be changed from here: none while the scope filter is off."""
        return () if self.seen.everything else self.seen.scopes

    @property
    def requester(self) -> Requester:
        return Requester(self.who, self.where.umo)

    def sees(self, stored: StoredMemory) -> bool:
        return self.seen.admits(place_name(stored))

    def find(self, pointer: str) -> StoredMemory | None:
        """The living memory behind a pointer or id, if the conversation sees it."""
        named = pointed_id(pointer)
        return None if named is None else self._catalogue.find(named, self.seen)

    def governs(self, scope: Scope) -> bool:
        """An admin changes what others said in a conversation's own scope, and from his own private
        chat all that he sees there."""
        own = scope == self.writes or self._is_his_chat
        return self.who.admin and own and scope in self.changeable

    def may_forget(self, stored: StoredMemory) -> bool:
        """Of what the conversation sees, each person forgets and takes back his own words, whatever
        scope they lie in. A coding agent only what is of its own scope: its account is many
        programs'."""
        if not self.sees(stored) or stored.scope not in self.changeable:
            return False
        foreign = self.who.is_agent and stored.scope != self.writes
        return (self.said(stored) and not foreign) or self.governs(stored.scope)

    def said(self, stored: StoredMemory) -> bool:
        """By any of the person's accounts."""
        return self._book.same_person(self.who.person, stored.memory.provenance.person)

    def governed(self, pointer: str) -> StoredMemory | Refused:
        """What an admin may change here. Others hear no more than that they may not."""
        stored = self.find(pointer)
        if stored is None:
            return absent(pointer)
        return stored if self.governs(stored.scope) else self.refusal(stored)

    def refusal(self, stored: StoredMemory) -> Refused:
        """Why a visible memory may not be changed from this conversation: whose it is, or where."""
        own = isinstance(self.writes, Refused) or stored.scope == self.writes
        elsewhere = "" if own else stored.scope.name
        memory = stored.memory
        return Refused("not_allowed", detail=memory.memory_id, who=memory.who, scope=elsewhere)

    def trusts(self, scope: Scope) -> bool:
        """An admin; in a private chat, its person, for a scope that is this chat's alone. Never an
        agent that acts by itself."""
        alone = self._is_his_chat and self._book.owns_alone(self.where, scope)
        return self.who.spoke and (self.who.admin or alone)

    @property
    def _is_his_chat(self) -> bool:
        return bool(self.who.person) and self.who.person == self.where.person


@dataclass(eq=False)
class Gate:
    """The front door's own: every other part gets a scope or a filter that a view has.
    ``_reads_root``: the store is a project's, whose notes may lie in the memory root."""

    _life: Lifespan
    _settings: EngineSettings
    _book: ScopeBook
    _catalogue: Catalogue
    _paused: PausedConversations
    _reads_root: bool

    async def open(self, where: ConversationId, who: Actor | None = None) -> View:
        """Once the vault is read. Raises EngineClosed, EngineOff."""
        await self._life.ready()
        return self.look(where, who)

    def look(self, where: ConversationId, who: Actor | None = None) -> View:
        """The same at once, of what is read so far."""
        resolution, pause = self._book.resolve(where), self._paused.of(where.map_key)
        scope = resolution.scope or PUBLIC
        writes: Scope | Refused = resolution.scope or Refused("read_only", resolution)
        shelves = [SHARED, ROOT_NOTES] if self._reads_root else [SHARED]
        if resolution.scope and where.persona:  # for others the map might have kept it apart
            shelves.append(Place.of_role(where.persona))
        own = tuple[Place, ...]()
        if where.kind is ConversationKind.PRIVATE:
            # What the bot learned from the person of this private chat, and from no other person.
            own = self._book.shelves_of(where.umo, where.person)
        seen = ScopeFilter.reading_as(scope, shelves=(*shelves, *own))
        exports: ScopeFilter | Refused = ScopeFilter.reading_as(scope, shelves=own)
        if resolution.refused:
            seen = NOTHING
            writes = exports = Refused("refused", resolution)
        if not self._settings.scope_filter_enabled:
            writes = Refused("learning_paused")
            seen = seen if resolution.refused else ScopeFilter((PUBLIC,), everything=True)
        given = resolution, seen, writes, exports, pause
        return View(where, who or NOBODY, *given, self._book, self._catalogue)
