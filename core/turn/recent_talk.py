"""What was said a moment ago, by conversation and person: in memory, bounded, gone with a restart.

Not AstrBot's history: that of a group does not tell its members apart, holds what was said under
another map, and knows no times.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from datetime import datetime

from ...llm_memory import ContextLine, ConversationId, ConversationKind, Turn, Voice
from ...llm_memory.recall.rules.talk import MOST_LINES
from ...llm_memory.text.turn_text import spoken
from ..latest import Latest

_TALKS = 500
"""Of persons, in all conversations together: those who spoke last."""
_KEPT = 400
"""Characters of one side of a turn: more than a recall looks at."""


class RecentTalk:
    """The last turns of each person in each conversation, under each persona."""

    def __init__(self) -> None:
        self._talks = Latest[tuple[str, str, str], deque[tuple[datetime, Turn]]](_TALKS)

    def note(self, conversation: ConversationId, turn: Turn, at: datetime) -> None:
        """A turn is finished. Nothing is kept of a turn whose view is unknown, or of an unknown
        speaker in a group."""
        key = _key(conversation, turn.actor.person)
        if key is None or not turn.view:
            return
        words, reply = spoken(turn.user_text)[:_KEPT], spoken(turn.reply_text)[:_KEPT]
        kept = (at, replace(turn, user_text=words, reply_text=reply))
        self._talks.note(key, deque([*self._talks.get(key, ()), kept], maxlen=MOST_LINES))

    def before(
        self, conversation: ConversationId, person: str, history: str
    ) -> tuple[ContextLine, ...]:
        """What this person said last, and what the bot answered, the earliest first: of the same
        chat history alone, for a person who begins a new one begins anew."""
        key = _key(conversation, person)
        return tuple(
            ContextLine(voice, text, at, turn.view)
            for at, turn in (self._talks.get(key, ()) if key is not None else ())
            if turn.history == history
            for voice, text in ((Voice.ASKER, turn.user_text), (Voice.BOT, turn.reply_text))
            if text
        )

    def clear(self, conversation: ConversationId) -> None:
        """Let go of what was said in a conversation, by anybody."""
        for key in [key for key in self._talks if key[0] == conversation.umo]:
            del self._talks[key]


def _key(conversation: ConversationId, person: str) -> tuple[str, str, str] | None:
    if not person and conversation.kind is not ConversationKind.PRIVATE:
        return None
    return conversation.umo, conversation.persona or "", person
