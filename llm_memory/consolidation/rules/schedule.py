"""When the nightly consolidation is due, in the bot's own days. Pure.

``at`` is local hour and minute. A zone tells its daylight saving by itself: in a spring night that
lacks this time it falls on the hour after, in an autumn night that has it twice on the first.
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta


def last_due(now: datetime, at: tuple[int, int]) -> datetime:
    """The newest moment, not after ``now``, that a run was due at."""
    due = _on(now, at, days=0)
    # Two times of one zone would be compared by what their clocks show.
    return due if due.astimezone(UTC) <= now.astimezone(UTC) else _on(now, at, days=-1)


def _on(now: datetime, at: tuple[int, int], *, days: int) -> datetime:
    day = now.date() + timedelta(days=days)
    local = datetime.combine(day, time(*at), tzinfo=now.tzinfo)
    # A time that a spring night lacks: through UTC it becomes the one that clocks show then.
    return local.astimezone(UTC).astimezone(now.tzinfo)
