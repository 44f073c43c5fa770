"""What is known of conversations and of who speaks in them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..migration.former_scopes import FormerScopes
from ..models.conversation import Actor, ConversationId, SeenSender
from ..models.status import Notice
from ..models.turns import Pause
from ..runtime.lifecycle import Lifespan
from ..scopes.access import Access, ConversationView
from ..scopes.origins import Origins, scope_of
from ..scopes.paused_conversations import PausedConversations
from ..scopes.scope_book import FirstContact, ScopeBook
from .bylines import Bylines


@dataclass(eq=False)
class Conversations:
    """Answers ``CognitiveService`` about the conversations themselves."""

    _access: Access
    _book: ScopeBook
    _origins: Origins
    _former: FormerScopes
    _paused_conversations: PausedConversations
    _bylines: Bylines
    _life: Lifespan

    async def meet(
        self, conversation_id: ConversationId, actor: Actor, view: ConversationView | None = None
    ) -> FirstContact:
        """Note that a person's message came, once the vault is read. ``view``: as it was resolved
        for the turn, None where it was not. Raises EngineClosed, EngineOff."""
        await self._life.ready()
        resolution = (view or self._access.view(conversation_id)).resolution
        paused = self._paused_conversations.of(conversation_id)
        scope = "" if paused else scope_of(resolution)
        self._bylines.meet(actor, scope)
        await self._origins.note(conversation_id, actor, scope)
        contact = await self._book.meet(conversation_id, actor, resolution)
        await self._former.note(conversation_id, contact.resolution)
        return contact

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
        return await self._book.claim_strangers_warning() if actor.admin else 0

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
