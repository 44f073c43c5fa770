"""What a conversation may read and write, and who may change what in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.pointers import pointed_id
from ..models.conversation import Actor, ConversationId, ConversationKind
from ..models.data_models import NotAllowed, NotVisible, Rejected, RejectReason, StoredMemory
from ..models.passages import place_name
from ..models.recall import Hit
from ..models.resolution import ReadPublicOnly, Refused, Usable
from ..models.scope import PUBLIC, Scope, ScopeFilter
from ..models.settings import EngineSettings
from ..models.shelf import Shelf
from ..text.normalising import content_hash
from .rules.note_files import shelves_of
from .scope_book import ScopeBook


class Access:
    """The cognitive service's own: everybody else gets a scope or a filter that it made."""

    def __init__(self, settings: EngineSettings, book: ScopeBook, catalogue: Catalogue) -> None:
        self._settings = settings
        self._book = book
        self._catalogue = catalogue

    def writable(self, conversation_id: ConversationId) -> Scope | Rejected:
        """The conversation's own scope, or why it writes none."""
        if not self._settings.scope_filter_enabled:
            return Rejected(RejectReason.LEARNING_PAUSED)
        match self._book.resolve(conversation_id):
            case Usable(scope, _):
                return scope
            case ReadPublicOnly(why):
                return Rejected(RejectReason.READ_ONLY, why)
            case Refused(why):
                return Rejected(RejectReason.REFUSED, why)

    def readable(self, conversation_id: ConversationId) -> ScopeFilter | None:
        """What the conversation sees; None if it is refused."""
        resolution = self._book.resolve(conversation_id)
        if isinstance(resolution, Refused):
            return None
        if not self._settings.scope_filter_enabled:
            return ScopeFilter((PUBLIC,), everything=True)
        scope = resolution.scope if isinstance(resolution, Usable) else PUBLIC
        shelves = shelves_of(conversation_id, resolution) + self._own_shelves(conversation_id)
        return ScopeFilter.reading_as(scope, shelves=shelves)

    def _own_shelves(self, conversation_id: ConversationId) -> tuple[Shelf, ...]:
        """What the bot learned from the person of this private chat, and from nobody else."""
        if conversation_id.kind is not ConversationKind.PRIVATE:
            return ()
        known = conversation_id.adapter and conversation_id.peer
        person = f"{conversation_id.adapter}:{conversation_id.peer}" if known else ""
        return self._book.shelves_of(conversation_id.umo, person)

    def view(self, conversation_id: ConversationId) -> str:
        """A mark of what the conversation sees: another one once that has changed. It names
        nothing."""
        scope_filter = self.readable(conversation_id)
        if scope_filter is None:
            return ""
        return content_hash(repr((scope_filter.names, scope_filter.everything)))

    def scope_in_use(self, conversation_id: ConversationId) -> str:
        """The name of the scope whose words the model may be shown; ``*`` for those of all scopes,
        empty where it is shown public ones at most."""
        resolution = self._book.resolve(conversation_id)
        if isinstance(resolution, Refused):
            return ""
        if not self._settings.scope_filter_enabled:
            return "*"
        return resolution.scope.name if isinstance(resolution, Usable) else ""

    def exportable(self, conversation_id: ConversationId) -> ScopeFilter | Rejected:
        """What the conversation may take away in a file: never more than its own scope and public,
        also while the filter is switched off, for a file stays when it is on again."""
        resolution = self._book.resolve(conversation_id)
        if isinstance(resolution, Refused):
            return Rejected(RejectReason.REFUSED, resolution.why)
        scope = resolution.scope if isinstance(resolution, Usable) else PUBLIC
        return ScopeFilter.reading_as(scope, shelves=self._own_shelves(conversation_id))

    def find(self, pointer: str, conversation_id: ConversationId) -> StoredMemory | None:
        """The living memory behind a pointer or id, if the conversation sees it."""
        named = pointed_id(pointer)
        scope_filter = self.readable(conversation_id)
        if named is None or scope_filter is None:
            return None
        return self._catalogue.find(named, scope_filter)

    def sees(self, stored: StoredMemory, conversation_id: ConversationId) -> bool:
        """True if a memory, living or archived, is one that the conversation may read."""
        scope_filter = self.readable(conversation_id)
        return scope_filter is not None and scope_filter.admits(place_name(stored))

    def for_admin(
        self, memory_id: str, conversation_id: ConversationId, actor: Actor
    ) -> StoredMemory | NotAllowed | NotVisible:
        """What an admin may change here. Others hear no more than that they may not."""
        stored = self.find(memory_id, conversation_id)
        if stored is None:
            return NotVisible(memory_id)
        scope = self.writable(conversation_id)
        if not actor.admin or isinstance(scope, Rejected) or stored.scope != scope:
            return self.refusal(stored, scope)
        return stored

    @staticmethod
    def refusal(stored: StoredMemory, scope: Scope | Rejected) -> NotAllowed:
        """Why a visible memory may not be changed from a conversation that writes ``scope``."""
        elsewhere = (
            "" if isinstance(scope, Rejected) or stored.scope == scope else stored.scope.name
        )
        return NotAllowed(stored.memory.memory_id, stored.memory.who, elsewhere)

    def trusts(self, actor: Actor | None, conversation_id: ConversationId, scope: Scope) -> bool:
        """An admin; in a private chat, its person, for a scope that is this chat's alone. Never an
        agent to whom nobody spoke."""
        if actor is None or not actor.spoke:
            return False
        peer = conversation_id.peer
        in_person = bool(peer) and actor.person == f"{conversation_id.adapter}:{peer}"
        return actor.admin or (in_person and self._book.owns_alone(conversation_id, scope))

    def as_seen_by(self, actor: Actor | None, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """The hits as they are told to a person: what he said himself needs nobody to vouch."""
        if actor is None:
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

    def in_reach(self, stored: StoredMemory, scope: Scope, actor: Actor) -> bool:
        """A memory changes only inside its own scope, by its speaker or an admin."""
        if stored.scope != scope:
            return False
        return actor.admin or self._book.same_person(actor.person, stored.memory.provenance.person)
