"""How fast one person may have things stored by command: faster than anyone types."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from time import monotonic

from ...llm_memory import Actor, ConversationId
from ..latest import Latest

_COMMAND_SECONDS = 3.0
_CHARACTERS_A_SECOND = 10.0
"""Nobody types that fast for long, whatever the input method."""
_AHEAD_SECONDS = 1200.0
"""So much typing may come at once, for what is pasted: six of the longest texts, or two hundred
short ones."""
_MOST = 1000
"""Persons; who has sent something longest ago goes first."""


class TypingRate:
    """Counts what a person sends as the time that typing it takes. Who types never gets ahead."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._typed_until = Latest[str, float](_MOST)

    def wait(self, conversation_id: ConversationId, actor: Actor, text: str) -> int:
        """Count a text. Returns 0, or in how many minutes the next one is taken: this one is not,
        and is not counted. Admins are not counted."""
        if actor.admin:
            return 0
        who, now = actor.person or conversation_id.umo, self._clock()
        until = max(self._typed_until.get(who, now), now)
        ahead = until - now
        if ahead < _AHEAD_SECONDS:
            until += _COMMAND_SECONDS + len(text) / _CHARACTERS_A_SECOND
        self._typed_until.note(who, until)
        return ceil((ahead - _AHEAD_SECONDS) / 60) or 1 if ahead >= _AHEAD_SECONDS else 0
