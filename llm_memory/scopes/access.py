"""What a conversation may read and write, and who may change what in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.pointers import pointed_id
from ..models.conversation import Actor, ConversationId, ConversationKind
from ..models.data_models import Reason, Refused, StoredMemory, absent
from ..models.passages import place_name
from ..models.recall import Hit
from ..models.resolution import ReadPublicOnly, ReadsNothing, Resolution, Usable
from ..models.scope import PUBLIC, Place, Scope, ScopeFilter
from ..models.settings import EngineSettings
from ..text.normalising import content_hash
from .rules.note_files import shelves_of
from .scope_book import ScopeBook


@dataclass(frozen=True, slots=True)
class ConversationView:
    """What one conversation may read and write, as its scope was resolved once.

    Attributes:
        readable: What it sees; None if it is refused.
        writable: Its own scope, or why it writes none.
        exportable: What it may take away in a file: never more than its own scope and public, also
            while the scope filter is switched off, for a file stays when it is on again.
    """

    conversation_id: ConversationId
    resolution: Resolution
    readable: ScopeFilter | None
    writable: Scope | Refused
    exportable: ScopeFilter | Refused

    @property
    def mark(self) -> str:
        """A mark of what the conversation sees: another one once that has changed. It names
        nothing, and is empty if the conversation is refused."""
        seen = self.readable
        return "" if seen is None else content_hash(repr((seen.names, seen.everything)))

    @property
    def scope_name(self) -> str:
        """The scope that it reads beside public; empty where it reads nothing."""
        return self.readable.scopes[0].name if self.readable else ""

    @property
    def scope_in_use(self) -> str:
        """The name of the scope whose words the model may be shown; ``*`` for those of all scopes,
        empty where it is shown public ones at most."""
        if self.readable is not None and self.readable.everything:
            return "*"
        return self.resolution.scope.name if isinstance(self.resolution, Usable) else ""

    @property
    def changeable(self) -> tuple[Scope, ...]:
        """The scopes of which something may be changed from here, its own first: none while the
        scope filter is switched off."""
        seen = self.readable
        return () if seen is None or seen.everything else seen.scopes

    def is_with(self, actor: Actor) -> bool:
        """True in a private chat of this very person."""
        return bool(actor.person) and actor.person == self.conversation_id.person

    def sees(self, stored: StoredMemory) -> bool:
        """True if a memory, living or archived, is one that the conversation may read."""
        return self.readable is not None and self.readable.admits(place_name(stored))


class Access:
    """Resolves what a conversation may read and write, and decides who may change what in it. The
    cognitive service's own: every other part gets a scope or a filter that it made."""

    def __init__(
        self,
        settings: EngineSettings,
        book: ScopeBook,
        catalogue: Catalogue,
        *,
        reads_root: bool = False,
    ) -> None:
        """``reads_root``: the store is a project's, whose notes may lie in the memory root."""
        self._reads_root = reads_root
        self._settings = settings
        self._book = book
        self._catalogue = catalogue

    def view(self, conversation_id: ConversationId) -> ConversationView:
        """Resolve the conversation's scope, once for all that one call asks of it."""
        resolution = self._book.resolve(conversation_id)
        return ConversationView(
            conversation_id,
            resolution,
            self._readable(conversation_id, resolution),
            self._writable(resolution),
            self._exportable(conversation_id, resolution),
        )

    def _writable(self, resolution: Resolution) -> Scope | Refused:
        if not self._settings.scope_filter_enabled:
            return Refused(Reason.LEARNING_PAUSED)
        match resolution:
            case Usable(scope, _):
                return scope
            case ReadPublicOnly(why):
                return Refused(Reason.READ_ONLY, why)
            case ReadsNothing(why):
                return Refused(Reason.REFUSED, why)

    def _readable(
        self, conversation_id: ConversationId, resolution: Resolution
    ) -> ScopeFilter | None:
        if isinstance(resolution, ReadsNothing):
            return None
        if not self._settings.scope_filter_enabled:
            return ScopeFilter((PUBLIC,), everything=True)
        scope = resolution.scope if isinstance(resolution, Usable) else PUBLIC
        shelves = shelves_of(conversation_id, resolution, reads_root=self._reads_root)
        own = self._own_shelves(conversation_id)
        return ScopeFilter.reading_as(scope, shelves=shelves + own)

    def _exportable(
        self, conversation_id: ConversationId, resolution: Resolution
    ) -> ScopeFilter | Refused:
        if isinstance(resolution, ReadsNothing):
            return Refused(Reason.REFUSED, resolution.why)
        scope = resolution.scope if isinstance(resolution, Usable) else PUBLIC
        return ScopeFilter.reading_as(scope, shelves=self._own_shelves(conversation_id))

    def _own_shelves(self, conversation_id: ConversationId) -> tuple[Place, ...]:
        """What the bot learned from the person of this private chat, and from no other person."""
        if conversation_id.kind is not ConversationKind.PRIVATE:
            return ()
        return self._book.shelves_of(conversation_id.umo, conversation_id.person)

    def find(self, pointer: str, view: ConversationView) -> StoredMemory | None:
        """The living memory behind a pointer or id, if the conversation sees it."""
        named = pointed_id(pointer)
        if named is None or view.readable is None:
            return None
        return self._catalogue.find(named, view.readable)

    def for_admin(
        self, memory_id: str, view: ConversationView, actor: Actor
    ) -> StoredMemory | Refused:
        """What an admin may change here. Others hear no more than that they may not."""
        stored = self.find(memory_id, view)
        if stored is None:
            return absent(memory_id)
        if not self.governs(stored.scope, view, actor):
            return self.refusal(stored, view)
        return stored

    @staticmethod
    def refusal(stored: StoredMemory, view: ConversationView) -> Refused:
        """Why a visible memory may not be changed from this conversation."""
        own = isinstance(view.writable, Refused) or stored.scope == view.writable
        elsewhere = "" if own else stored.scope.name
        return Refused(
            Reason.NOT_ALLOWED,
            detail=stored.memory.memory_id,
            who=stored.memory.who,
            scope=elsewhere,
        )

    @staticmethod
    def governs(scope: Scope, view: ConversationView, actor: Actor) -> bool:
        """An admin changes what others said: in a conversation's own scope, and from his own
        private chat all that he sees there."""
        own = scope == view.writable or view.is_with(actor)
        return actor.admin and own and scope in view.changeable

    def may_forget(self, stored: StoredMemory, view: ConversationView, actor: Actor) -> bool:
        """Of what the conversation sees, each person forgets and takes back his own words, whatever
        scope they lie in. A coding agent only what is of its own scope: its account is many
        programs'."""
        if not view.sees(stored) or stored.scope not in view.changeable:
            return False
        mine = self._book.same_person(actor.person, stored.memory.provenance.person)
        foreign = actor.is_agent and stored.scope != view.writable
        return (mine and not foreign) or self.governs(stored.scope, view, actor)

    def trusts(self, actor: Actor | None, view: ConversationView, scope: Scope) -> bool:
        """An admin; in a private chat, its person, for a scope that is this chat's alone. Never an
        agent that acts by itself."""
        if actor is None or not actor.spoke:
            return False
        alone = self._book.owns_alone(view.conversation_id, scope)
        return actor.admin or (view.is_with(actor) and alone)

    def as_seen_by(self, actor: Actor | None, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """The hits as they are told to a person: one's own words need no voucher. Coding agents are
        many programs under one account: what one of them logged is no other's own."""
        if actor is None or actor.is_agent:
            return tuple(hits)
        same = self._book.same_person
        return tuple(
            replace(
                hit,
                unvouched=hit.unvouched and not same(actor.person, hit.person),
                also=self.as_seen_by(actor, hit.also),
            )
            for hit in hits
        )
