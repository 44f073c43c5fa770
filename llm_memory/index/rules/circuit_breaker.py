"""How long to leave a failing index alone, and when to begin it anew.

Times are seconds of a monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WINDOW: Final = 600.0
"""Faults further back than this say nothing about now."""
FAULTS: Final = 3
"""Unexplained faults within the window after which the index is not believed any more."""
BETWEEN_REBUILDS: Final = 3600.0
"""A rebuild that did not help is not tried again for so long."""
UNEXPLAINED: Final = "fault"
"""The code of a fault that the index itself must be blamed for. Others name a cause outside it: a
server that is down, another process that holds the file."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do after a fault: wait, and perhaps give up what is stored first."""

    wait: float
    rebuild: bool = False


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """The faults so far. A value: ``failed`` answers the breaker to go on with.

    Attributes:
        faults: Time and code of each fault within the window.
        rebuilt_at: When the index was last begun anew on our advice.
    """

    faults: tuple[tuple[float, str], ...] = ()
    rebuilt_at: float | None = None

    def failed(
        self, now: float, code: str, waits: tuple[float, ...]
    ) -> tuple[CircuitBreaker, Decision]:
        """Take in a fault. ``waits`` are the seconds after the first, second, … fault in a row;
        the last one stands for all that follow."""
        recent = (*(f for f in self.faults if now - f[0] <= WINDOW), (now, code))
        wait = waits[min(len(recent), len(waits)) - 1]
        blamed = sum(1 for _, seen in recent if seen == UNEXPLAINED)
        rested = self.rebuilt_at is None or now - self.rebuilt_at > BETWEEN_REBUILDS
        if code == UNEXPLAINED and blamed >= FAULTS and rested:
            return CircuitBreaker((), now), Decision(wait, rebuild=True)
        return CircuitBreaker(recent, self.rebuilt_at), Decision(wait)
