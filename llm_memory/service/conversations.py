"""What is known of conversations and of who speaks in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..migration.former_scopes import FormerScopes
from ..models.conversation import Actor, ConversationId, SeenSender
from ..models.status import Notice
from ..models.turns import Pause
from ..scopes.origins import Origins, scope_of
from ..scopes.paused_conversations import PausedConversations
from ..scopes.scope_book import FirstContact, ScopeBook
from .bylines import Bylines
from .door import Door


@dataclass(eq=False)
class Conversations(Door):
    """Answers about the conversations themselves."""

    _book: ScopeBook
    _origins: Origins
    _former: FormerScopes
    _pauses: PausedConversations
    _bylines: Bylines

    async def meet(self, conversation_id: ConversationId, actor: Actor) -> FirstContact:
        """Note that a person's message came, once the vault is read."""
        view = await self._gate.open(conversation_id, actor)
        scope = "" if view.pause else scope_of(view.resolution)
        self._bylines.meet(actor, scope, conversation_id)
        await self._origins.note(conversation_id, actor, scope)
        contact = await self._book.meet(conversation_id, actor, view.resolution)
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

    async def claim_news(self, actor: Actor) -> list[Notice]:
        """What an admin is told once in chat and was not told yet; none for anybody else. Whoever
        claims it settles it."""
        await self._life.ready()
        return await self._book.told.claim_news() if actor.admin else []

    async def settle_news(self, news: Sequence[Notice], *, said: bool) -> None:
        """The admin who claimed it was told, or could not be reached: then it is another time."""
        await self._life.ready()
        await self._book.told.settle_news(news, said=said)

    def pause_of(self, conversation_id: ConversationId) -> Pause | None:
        """Its pause; None where it is on the record, or that is not known yet."""
        return self._pauses.of(conversation_id)
