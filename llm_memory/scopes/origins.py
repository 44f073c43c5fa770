"""What persons' messages have told of the origins of conversations, kept durably."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from ..errors import StateUnavailable
from ..log import logger
from ..models.conversation import Actor, ConversationId, SeenSender
from ..models.scope import PUBLIC
from ..runtime.lifecycle import Lifespan
from ..storage.state_store import SqliteStateStore
from .rules.origins import complete, on_behalf_of, place_of
from .rules.rebinding import chat_key, renamed
from .scope_book import ScopeBook

_REMEMBERED = 4096


@dataclass(eq=False)
class Origins:
    """The map and the policies are asked with what it completes."""

    _life: Lifespan
    _state: SqliteStateStore
    _book: ScopeBook
    _written: set[SeenSender] = field(default_factory=set, init=False)

    async def note(self, conversation_id: ConversationId, actor: Actor, scope: str) -> None:
        """Keep that a person has spoken in a conversation of this scope, empty where nothing is
        kept; and what a group is called, as the name of nobody in it. If that cannot be written,
        the next message is kept."""
        adapter, group = conversation_id.adapter, conversation_id.group or ""
        if not actor.spoke or not adapter:
            return
        peer = actor.person.removeprefix(f"{adapter}:")
        seen = SeenSender(conversation_id.umo, scope, adapter, group, peer, actor.name)
        notes = [seen]
        if conversation_id.title and group:
            umo = chat_key(conversation_id)
            notes.append(replace(seen, umo=umo, peer="", name=conversation_id.title))
        try:
            for one in notes:
                if one not in self._written:
                    await asyncio.to_thread(self._state.note_sender, one)
                    self._written.add(one)
        except StateUnavailable as error:
            logger.warning("state_not_written", error=error)
        if len(self._written) >= _REMEMBERED:
            self._written.clear()

    async def met(self) -> list[SeenSender]:
        """Who has spoken where, and what groups are called; see ``note``. For admins alone."""
        return await self._senders("")

    async def has_met(self, name: str) -> bool:
        """True if somebody has spoken in this conversation, or to this bot account."""
        met = await self.met()
        return await asyncio.to_thread(
            lambda: any(renamed(place_of(one).umo, name, name) is not None for one in met)
        )

    async def completed(self, parsed: ConversationId, adapter: str | None) -> ConversationId:
        """``parsed`` with what its string hides, ``hidden`` if no person's message has told it."""
        return complete(parsed, adapter, await self._senders(parsed.umo))

    async def on_behalf_of(self, conversation_id: ConversationId, sender: str) -> SeenSender | None:
        """For whom an agent acts in a completed conversation; None where it cannot be told. The
        name is empty where it was told in another scope than the conversation has now. ``sender``:
        who set the timer, as the job says."""
        resolution = self._book.resolve(conversation_id)
        if resolution.refused:
            return None
        found = on_behalf_of(conversation_id, await self._senders(conversation_id.umo), sender)
        if found is not None and found.scope not in (PUBLIC.name, resolution.name):
            return replace(found, name="")
        return found

    async def _senders(self, umo: str) -> list[SeenSender]:
        await self._life.begun()
        try:
            return await asyncio.to_thread(self._state.senders, umo)
        except StateUnavailable as error:
            logger.warning("state_not_read", error=error)
            return []
