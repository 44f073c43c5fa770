"""What was said a moment ago, by conversation and person: in memory, bounded, gone with a restart.

Not AstrBot's history: that of a group does not tell its members apart, holds what was said under
another map, and knows no times.
"""

from __future__ import annotations

from collections import deque
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
    """The last turns of each person in each conversation, under each persona: each side with the
    chat history that it stands in."""

    def __init__(self) -> None:
        self._talks = Latest[tuple[str, str, str], deque[tuple[str, ContextLine]]](_TALKS)

    def note(self, conversation: ConversationId, turn: Turn, at: datetime) -> None:
        """A turn is finished. Nothing is kept of a turn whose view is unknown, or of an unknown
        speaker in a group."""
        person = turn.actor.person
        if turn.view and (person or conversation.kind is ConversationKind.PRIVATE):
            sides = ((Voice.ASKER, turn.user_text), (Voice.BOT, turn.reply_text))
            said = [(voice, spoken(text)[:_KEPT]) for voice, text in sides]
            lines = [ContextLine(voice, text, at, turn.view) for voice, text in said if text]
            key = (conversation.umo, conversation.persona or "", person)
            kept = [*self._talks.get(key, ()), *((turn.history, line) for line in lines)]
            self._talks.note(key, deque(kept, maxlen=2 * MOST_LINES))

    def before(
        self, conversation: ConversationId, person: str, history: str
    ) -> tuple[ContextLine, ...]:
        """What this person said last, and what the bot answered, the earliest first: of the same
        chat history alone, for a person who begins a new one begins anew."""
        said = self._talks.get((conversation.umo, conversation.persona or "", person), ())
        return tuple(line for stands_in, line in said if stands_in == history)

    def clear(self, conversation: ConversationId) -> None:
        """Let go of what was said in a conversation, by anybody."""
        for key in [key for key in self._talks if key[0] == conversation.umo]:
            del self._talks[key]
