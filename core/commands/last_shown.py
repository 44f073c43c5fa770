"""Under which numbers a conversation was shown memories last."""

from __future__ import annotations

from collections.abc import Sequence

from ...llm_memory import ConversationId

_MOST = 500
"""Conversations; the one that was shown something longest ago goes first."""


class LastShown:
    """Ids by number, no words: who may see and change them is asked when a number is used."""

    def __init__(self) -> None:
        self._shown: dict[str, dict[int, str]] = {}

    def note(self, conversation_id: ConversationId, ids: Sequence[str], first: int = 1) -> None:
        """A list was shown, numbered from ``first`` on. It takes the place of the one before."""
        self._shown.pop(conversation_id.umo, None)
        self._shown[conversation_id.umo] = dict(enumerate(ids, start=first))
        if len(self._shown) > _MOST:
            del self._shown[next(iter(self._shown))]

    def numbers(self, conversation_id: ConversationId) -> dict[int, str]:
        """What was shown last; empty for nothing since the start."""
        return self._shown.get(conversation_id.umo, {})
