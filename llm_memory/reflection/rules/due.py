"""Decides when turns are read. Pure.

A call costs about the same for one turn as for ten, and waiting turns are not missing in answers:
AstrBot has them in the conversation's context, and recall finds their words. So turns are read when
that pays: enough was said that is worth reading, and the conversation is idle.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from ...models.loop import WaitingLine

MIN_TURNS: Final = 7
"""So many turns pay for a call: the rest of its prompt costs as much as they do."""
MIN_WORTH: Final = 6
"""The least worth of turns that pay for a call."""
ENDED: Final = timedelta(days=7)
"""A conversation idle for so long counts as ended."""
LONGEST_WAIT: Final = timedelta(days=14)
"""No turn waits longer."""
MOST_CHARS: Final = 6_000
"""Characters of messages and replies: about what fits into a prompt without being cut."""


def may_pay(line: WaitingLine, *, after_turns: int) -> bool:
    """Returns whether a line has enough turns for its worth to matter."""
    return line.count >= min(MIN_TURNS, after_turns)


def seconds_until_due(
    line: WaitingLine, worth: float, now: datetime, *, after_turns: int, idle: timedelta
) -> float:
    """Returns the seconds until a line is due if nothing more is said in it, 0 for now. So many
    turns, or so much text, are due while the talk goes on. A clock that was set back by long makes
    turns no younger.

    Args:
        worth: The sum of ``worth_of`` over the turns.
    """
    if line.count >= after_turns or line.chars >= MOST_CHARS:
        return 0.0
    quiet = abs(now - line.newest)
    wait = idle - quiet
    if not may_pay(line, after_turns=after_turns) or worth < min(MIN_WORTH, after_turns):
        wait = max(wait, min(ENDED - quiet, LONGEST_WAIT - abs(now - line.oldest)))
    return max(wait.total_seconds(), 0.0)
