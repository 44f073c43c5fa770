"""What was noted last, by key: in memory, bounded, gone with a restart. What was said a moment ago;
how fast one person may have things stored: faster than anyone types.

The talk is not AstrBot's history: that of a group does not tell its members apart, holds what was
said under another map, and knows no times.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import datetime
from math import ceil
from time import monotonic

from ..llm_memory import Actor, ContextLine, ConversationId, ConversationKind, Turn, Voice
from ..llm_memory.recall.rules.asked import MOST_LINES
from ..llm_memory.text.turn_text import spoken

_COMMAND_SECONDS = 3.0
_CHARACTERS_A_SECOND = 10.0
"""Nobody types that fast for long, whatever the input method."""
_AHEAD_SECONDS = 420.0
"""So much typing may come at once, for what is pasted: three of the longest texts."""
_AT_ONCE = 20
"""So many may come at once, however short they are."""
_MOST = 1000
"""Persons; who has sent something longest ago goes first."""
_TALKS = 500
"""Of persons, in all conversations together: those who spoke last."""
_KEPT = 400
"""Characters of one side of a turn: more than a recall looks at."""


class Latest[Key, Value](dict[Key, Value]):
    """The ``most`` values that were noted last."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def note(self, key: Key, value: Value) -> None:
        """Note a value as the newest. Beyond ``most``, the oldest one goes."""
        self.pop(key, None)
        self[key] = value
        if len(self) > self._most:
            del self[next(iter(self))]


class TypingRate:
    """Counts what a person sends as the time that typing it takes. Who types never gets ahead."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._typed_until = Latest[str, tuple[float, float]](_MOST)
        """Until when typing the words takes, and sending them off alone."""

    def wait(self, conversation_id: ConversationId, actor: Actor, text: str) -> int:
        """Count a text. Returns 0, or in how many minutes the next one is taken: this one is not,
        and is not counted. Admins are not counted."""
        if actor.admin:
            return 0
        who, now = actor.person or conversation_id.umo, self._clock()
        typed, sent = (max(one, now) for one in self._typed_until.get(who, (now, now)))
        over = max(typed - now - _AHEAD_SECONDS, sent - now - _AT_ONCE * _COMMAND_SECONDS)
        if over >= 0:
            return ceil(over / 60) or 1
        typed += _COMMAND_SECONDS + len(text) / _CHARACTERS_A_SECOND
        self._typed_until.note(who, (typed, sent + _COMMAND_SECONDS))
        return 0


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
