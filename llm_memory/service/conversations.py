"""What is known of conversations and of who speaks in them, and pauses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..catalogue.catalogue import Catalogue
from ..catalogue.unread_turns import UnreadTurns
from ..migration.former_scopes import FormerScopes
from ..models.conversation import Actor, ConversationId, ConversationKind, SeenSender
from ..models.data_models import (
    NotAllowed,
    Rejected,
    RejectReason,
    Source,
    StoredMemory,
    Topic,
)
from ..models.notices import Notice
from ..models.scope import PUBLIC
from ..models.status import ScopeReport
from ..models.turns import Pause, Paused, PauseOutcome, Resumed, ResumeOutcome
from ..reflection.model_histories import ModelHistories
from ..runtime.identifiers import Clock
from ..runtime.lifecycle import Lifespan
from ..scopes.access import Access, ConversationView
from ..scopes.origins import Origins
from ..scopes.paused_conversations import PausedConversations
from ..scopes.scope_book import FirstContact, ScopeBook
from .bylines import Bylines

_RULES_TOLD = 20


@dataclass(eq=False)
class Conversations:
    """Answers ``CognitiveService`` about the conversations themselves."""

    _access: Access
    _book: ScopeBook
    _origins: Origins
    _former: FormerScopes
    _catalogue: Catalogue
    _histories: ModelHistories
    _paused_conversations: PausedConversations
    _unread: UnreadTurns
    _bylines: Bylines
    _life: Lifespan
    _clock: Clock

    async def meet(
        self, conversation_id: ConversationId, actor: Actor, view: ConversationView | None = None
    ) -> FirstContact:
        """Note that a person's message came, once the vault is read. ``view``: as it was resolved
        for the turn, None where it was not. Raises EngineClosed, EngineOff."""
        await self._life.ready()
        resolution = (view or self._access.view(conversation_id)).resolution
        self._bylines.meet(actor)
        await self._origins.note(conversation_id, actor, resolution)
        contact = await self._book.meet(conversation_id, actor, resolution)
        await self._former.note(conversation_id, contact.resolution)
        return contact

    async def describe(self, view: ConversationView) -> ScopeReport:
        """What the conversation reads and writes, and why."""
        where, seen = view.conversation_id, view.readable
        return ScopeReport(
            resolution=view.resolution,
            visible=sum(1 for _ in self._catalogue.visible(seen)) if seen else 0,
            damaged=self._book.damaged,
            strangers_in_public=self._book.strangers_in_public,
            paused=self._paused_conversations.of(where),
            mixed_history=self._histories.current_is_mixed(where.umo),
            left=tuple(await self._former.count(self._former.of(where))),
        )

    async def new_rules(self, view: ConversationView, actor: Actor) -> list[StoredMemory]:
        """The rules of this conversation's scope that were learned from an admin's talk, each told
        once, to an admin alone; of many, the next ones with the next call."""
        if not actor.admin or view.readable is None:
            return []
        found = {
            one.memory.memory_id: one
            for one in self._catalogue.of_topics({Topic.INSTRUCTIONS}, view.readable)
            if one.memory.provenance.trusted and one.memory.provenance.source is Source.REFLECTION
        }
        unreported = await self._book.claim_unreported(list(found), most=_RULES_TOLD)
        return [found[memory_id] for memory_id in unreported]

    async def completed(self, parsed: ConversationId, adapter: str | None) -> ConversationId:
        """A conversation of which an event tells the origin alone; see ``Origins.completed``."""
        await self._life.begun()
        return await self._origins.completed(parsed, adapter)

    async def met(self) -> list[SeenSender]:
        """Who has spoken where; see ``Origins.met``. For admins alone."""
        await self._life.begun()
        return await self._origins.met()

    async def on_behalf_of(self, conversation_id: ConversationId, sender: str) -> SeenSender | None:
        """For whom an agent acts that woke by itself; see ``Origins.on_behalf_of``."""
        await self._life.begun()
        return await self._origins.on_behalf_of(conversation_id, sender)

    async def claim_strangers_warning(self, actor: Actor) -> int:
        """How many persons but admins write privately in public, for an admin who was not told of
        it yet; 0 for anybody else, and from then on. Asked first of what an admin is told."""
        await self._life.ready()
        if not actor.admin:
            return 0
        self._book.begin_telling()
        return await self._book.claim_strangers_warning()

    async def claim_successors(self, actor: Actor) -> list[tuple[str, str]]:
        """The conversations that are held since they seem to go on for another one, with the key of
        that, for an admin who was not told of them yet; none for anybody else, and from then on."""
        await self._life.ready()
        return await self._book.claim_successors() if actor.admin else []

    async def claim_decisions(self, actor: Actor) -> list[Notice]:
        """What was proposed or changed of the bot's manner, for an admin who was not told of it
        yet; none for anybody else, and from then on."""
        await self._life.ready()
        return await self._book.claim_decisions() if actor.admin else []

    async def return_strangers_warning(self) -> None:
        """The admin who claimed it, with all that was claimed after it, could not be reached."""
        await self._life.ready()
        await self._book.return_strangers_warning()

    def paused_since(self, conversation_id: ConversationId) -> datetime | None:
        """When it was paused; None where it is not, or that is not known yet."""
        paused = self.pause_of(conversation_id)
        return paused.since if paused else None

    def pause_of(self, conversation_id: ConversationId) -> Pause | None:
        """Its pause; None where it is on the record, or that is not known yet."""
        return self._paused_conversations.of(conversation_id)

    async def pause(
        self, view: ConversationView, actor: Actor, until: datetime | None
    ) -> PauseOutcome:
        """Off the record from now on. Raises StateUnavailable, and then it is not paused."""
        conversation_id, scope = view.conversation_id, view.writable
        if not _may_pause(conversation_id, actor):
            return NotAllowed("")
        if isinstance(scope, Rejected) and scope.reason is RejectReason.REFUSED:
            return scope
        name = PUBLIC.name if isinstance(scope, Rejected) else scope.name
        asked = Pause(name, self._clock(), until)
        paused, before = await self._life.finish(
            lambda: self._paused_conversations.pause(conversation_id, asked)
        )
        await self._unread.review()
        return Paused(paused.since, before, paused.until)

    async def resume(self, conversation_id: ConversationId, actor: Actor) -> ResumeOutcome:
        """On the record again. Raises StateUnavailable."""
        if not _may_pause(conversation_id, actor):
            return NotAllowed("")
        was = await self._life.finish(lambda: self._paused_conversations.resume(conversation_id))
        await self._unread.review()
        return Resumed(before=not was)


def _may_pause(conversation_id: ConversationId, actor: Actor) -> bool:
    """The person of a private chat speaks for it; in a group one would pause all others."""
    return actor.admin or conversation_id.kind is ConversationKind.PRIVATE
