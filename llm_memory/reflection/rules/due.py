"""Decides when turns are read, and when a failed service is called again. Pure.

A call costs about the same for one turn as for ten, and waiting turns are not missing in answers:
AstrBot has them in the conversation's context, and recall finds their words. So turns are read when
that pays: enough was said that is worth reading, and the conversation is idle.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def is_due(
    line: WaitingLine, worth: float, now: datetime, *, after_turns: int, idle: timedelta
) -> bool:
    """Returns True for so many turns, or so much text, that idling is not awaited; or if the line
    is idle, and its turns pay for a call or have waited long. A clock that was set back further
    than that does not make the turns younger.

    Args:
        worth: The sum of ``worth_of`` over the turns.
    """
    if line.count >= after_turns or line.chars >= MOST_CHARS:
        return True
    rests = abs(now - line.newest) >= idle
    ended = abs(now - line.newest) >= ENDED or abs(now - line.oldest) >= LONGEST_WAIT
    return rests and (ended or _pays(line, worth, after_turns))


def seconds_until_due(
    line: WaitingLine, worth: float, now: datetime, *, after_turns: int, idle: timedelta
) -> float:
    """Returns the seconds until a line is due if nothing more is said in it."""
    rests = line.newest + idle
    ended = min(line.newest + ENDED, line.oldest + LONGEST_WAIT)
    due = rests if _pays(line, worth, after_turns) else max(rests, ended)
    return max((due - now).total_seconds(), 0.0)


def _pays(line: WaitingLine, worth: float, after_turns: int) -> bool:
    return may_pay(line, after_turns=after_turns) and worth >= min(MIN_WORTH, after_turns)


def wait_after(failures: int, retry_seconds: Sequence[float]) -> timedelta:
    """Returns the backoff of a service after so many failures in a row."""
    if not failures or not retry_seconds:
        return timedelta()
    return timedelta(seconds=retry_seconds[min(failures, len(retry_seconds)) - 1])


def seconds_until_asked(now: datetime, failed_at: datetime, wait: timedelta) -> float:
    """Returns the seconds until a failed service is called again, 0 for now."""
    return max((failed_at + wait - now).total_seconds(), 0.0)
