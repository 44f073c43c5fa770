"""What a running loop will do next."""

from __future__ import annotations

import asyncio
import math
from typing import Any


def soonest() -> float:
    """Seconds until the first of the loop's timers rings."""
    loop: Any = asyncio.get_running_loop()
    now = loop.time()
    rings = (timer.when() - now for timer in loop._scheduled if not timer.cancelled())
    return min(rings, default=math.inf)
