"""The chat history that AstrBot gives the model: which one it is, and whether anything is in it."""

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
