"""The only place where a conversation gets its scope."""

from __future__ import annotations

from dataclasses import dataclass

from ..models.conversation import ConversationId
from ..runtime.lifecycle import Lifespan
from ..scopes.access import Access, ConversationView


@dataclass(eq=False)
class Door:
    """Takes a ConversationId, derives the scope; what stands on it does what is asked inside it."""

    _life: Lifespan
    _access: Access

    async def _view(self, conversation_id: ConversationId) -> ConversationView:
        """What the conversation may see and do, once the vault is read."""
        await self._life.ready()
        return self._access.view(conversation_id)
