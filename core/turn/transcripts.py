"""AstrBot's own chat histories, by their id: the words of a talk stay there."""

from __future__ import annotations

from typing import Any


async def kept_history(context: Any, umo: str, history_id: str) -> str | None:
    """Returns a conversation's history as JSON text; None where it has none of that id.

    AstrBot gives the history of that id to whoever asks, also another conversation's. Raises what
    its database raises.
    """
    conversation = await context.conversation_manager.get_conversation(umo, history_id)
    if conversation is None or conversation.user_id != umo:
        return None
    return str(conversation.history or "")
