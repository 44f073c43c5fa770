"""When turns are to be read, and when a service that failed is asked again. Pure.

A call costs about the same for one turn as for ten, and what waits costs nobody their answer:
AstrBot has it in the context of its conversation, and recall finds its words. So turns are read
when that pays: enough was said that is worth reading, and the talk has come to a rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from ...models.loop import WaitingLine

PAYS: Final = 7
"""So many turns pay for a call: what it asks for besides them costs as much."""
WORTH: Final = 6
"""So much of them has to be worth reading."""
ENDED: Final = timedelta(days=7)
"""After so long nobody will add to the little that was said."""
LONGEST_WAIT: Final = timedelta(days=14)
"""Nothing waits longer."""
MOST_CHARS: Final = 6_000
"""Of what was said and answered: about what fits into a prompt without being cut."""


def may_pay(line: WaitingLine, *, after_turns: int) -> bool:
    """Whether it makes a difference how much of a line is worth reading."""
    return line.count >= min(PAYS, after_turns)


def is_due(
    line: WaitingLine, worth: float, now: datetime, *, after_turns: int, idle: timedelta
) -> bool:
    """So many turns, or so much text, that a rest is not waited for; or nobody has said anything
    for so long, and what was said pays for a call, or has waited long. A clock that went back by
    more than that has made the turns no younger.

    Args:
        worth: Of the turns, as ``worth_reading`` tells it.
    """
    if line.count >= after_turns or line.chars >= MOST_CHARS:
        return True
    rests = abs(now - line.newest) >= idle
    ended = abs(now - line.newest) >= ENDED or abs(now - line.oldest) >= LONGEST_WAIT
    return rests and (ended or _pays(line, worth, after_turns))


def seconds_until_due(
    line: WaitingLine, worth: float, now: datetime, *, after_turns: int, idle: timedelta
) -> float:
    """For a line that is not due, if nothing more is said in it."""
    rests = line.newest + idle
    ended = min(line.newest + ENDED, line.oldest + LONGEST_WAIT)
    due = rests if _pays(line, worth, after_turns) else max(rests, ended)
    return max((due - now).total_seconds(), 0.0)


def _pays(line: WaitingLine, worth: float, after_turns: int) -> bool:
    return may_pay(line, after_turns=after_turns) and worth >= min(WORTH, after_turns)


def wait_after(failures: int, retry_seconds: Sequence[float]) -> timedelta:
    """How long to leave a service alone that failed so often in a row."""
    if not failures or not retry_seconds:
        return timedelta()
    return timedelta(seconds=retry_seconds[min(failures, len(retry_seconds)) - 1])


def seconds_until_asked(now: datetime, failed_at: datetime, wait: timedelta) -> float:
    """Until a service that failed is asked again, 0 for now."""
    return max((failed_at + wait - now).total_seconds(), 0.0)
