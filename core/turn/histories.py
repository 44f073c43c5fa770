"""AstrBot's own chat histories: which one the model is given, whether anything is in it, and its
words by its id: they stay there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from astrbot.api import logger

_UNKNOWN = "unknown"
"""AstrBot names none: it is taken for one that never ends."""
_EMPTY = ("", "[]")


@dataclass(frozen=True, slots=True)
class History:
    """``empty``: nothing stands in it yet, as after ``/new`` and ``/reset``."""

    cid: str
    empty: bool = False


async def history_of(context: Any, umo: str, conversation: Any = None) -> History:
    """AstrBot's current one.

    Args:
        context: AstrBot's.
        umo: Whose.
        conversation: AstrBot's own, None where it is not at hand.
    """
    if conversation is not None:
        return History(str(conversation.cid), str(conversation.history or "").strip() in _EMPTY)
    try:
        current = await context.conversation_manager.get_curr_conversation_id(umo)
    except Exception as error:  # noqa: BLE001  (AstrBot's database may raise anything)
        logger.debug(repr(error))
        current = None
    return History(str(current or _UNKNOWN))


async def kept_history(context: Any, umo: str, history_id: str) -> str | None:
    """Returns a conversation's history as JSON text; None where it has none of that id.

    AstrBot gives the history of that id to whoever asks, also another conversation's. Raises what
    its database raises.
    """
    conversation = await context.conversation_manager.get_conversation(umo, history_id)
    if conversation is None or conversation.user_id != umo:
        return None
    return str(conversation.history or "")
