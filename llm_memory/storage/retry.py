"""Windows refuses to replace, remove or open a file that another program has open.

A virus scanner, a backup or a folder that is kept in step with another machine holds a file for
some milliseconds and lets go of it. So the step is tried again for a second. Elsewhere the same
error means missing rights, and waiting mends nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

IS_WINDOWS = os.name == "nt"
"""Tests set it: only then is anything tried again."""

PAUSES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.3)
"""Seconds between two tries, about one in all."""


def when_free[R](step: Callable[[], R]) -> R:
    """What ``step`` gives. Blocks up to a second on Windows: call it in a thread.

    Raises:
        OSError: whatever ``step`` raised last.
    """
    for pause in PAUSES if IS_WINDOWS else ():
        try:
            return step()
        except (
            PermissionError
        ):  # ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION
            time.sleep(pause)
    return step()
