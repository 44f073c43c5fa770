"""What was noted last, by key: in memory, bounded, gone with a restart. How fast one person may
have things stored: faster than anyone types."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from time import monotonic

from ..llm_memory import Actor, ConversationId

_COMMAND_SECONDS = 3.0
_CHARACTERS_A_SECOND = 10.0
"""Nobody types that fast for long, whatever the input method."""
_AHEAD_SECONDS = 420.0
"""So much typing may come at once, for what is pasted: three of the longest texts."""
_AT_ONCE = 20
"""So many may come at once, however short they are."""
_MOST = 1000
"""Persons; who has sent something longest ago goes first."""


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
