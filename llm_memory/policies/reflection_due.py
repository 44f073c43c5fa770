"""When turns are to be read, and when a service that failed is asked again. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from ..models.loop import WaitingLine


def is_due(line: WaitingLine, now: datetime, *, after_turns: int, idle: timedelta) -> bool:
    """Enough turns, or nobody has said anything for so long. A clock that went back by more than
    that has made the turns no younger."""
    return line.count >= after_turns or abs(now - line.newest) >= idle


def seconds_until_due(line: WaitingLine, now: datetime, *, idle: timedelta) -> float:
    """For a line that is not due."""
    return max((line.newest + idle - now).total_seconds(), 0.0)


def wait_after(failures: int, retry_seconds: Sequence[float]) -> timedelta:
    """How long to leave a service alone that failed so often in a row."""
    if not failures or not retry_seconds:
        return timedelta()
    return timedelta(seconds=retry_seconds[min(failures, len(retry_seconds)) - 1])


def seconds_until_asked(now: datetime, failed_at: datetime, wait: timedelta) -> float:
    """Until a service that failed is asked again, 0 for now."""
    return max((failed_at + wait - now).total_seconds(), 0.0)
