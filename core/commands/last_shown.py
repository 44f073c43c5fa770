"""Under which numbers a person was shown memories last."""

from __future__ import annotations

from collections.abc import Sequence

from ...llm_memory import Actor, ConversationId

_MOST = 500
"""Lists; the one that was shown longest ago goes first."""


class LastShown:
    """Ids by number, no words: who may see and change them is asked when a number is used. A list
    is of the person who asked for it, in that conversation: another member counts in another."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, str], dict[int, str]] = {}

    def note(
        self, conversation_id: ConversationId, actor: Actor, ids: Sequence[str], first: int = 1
    ) -> None:
        """A list was shown, numbered from ``first`` on. It takes the place of the one before."""
        key = (conversation_id.umo, actor.person)
        self._shown.pop(key, None)
        self._shown[key] = dict(enumerate(ids, start=first))
        if len(self._shown) > _MOST:
            del self._shown[next(iter(self._shown))]

    def numbers(self, conversation_id: ConversationId, actor: Actor) -> dict[int, str]:
        """What the person was shown last there; empty for nothing since the start."""
        return self._shown.get((conversation_id.umo, actor.person), {})
