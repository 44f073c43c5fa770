"""Thousands of memories live as long as the engine: the garbage collector need not look at them.

A full collection over 100,000 takes a quarter of a second, and the whole interpreter with it; what
a bot has imported alone takes a tenth. What is garbage when all that lives is set apart stays until
``gc.unfreeze``: so that is done once after the vault was read, and once a night.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def long_lived() -> Iterator[None]:
    """What is made meanwhile is set apart before the collector, off until then, looks at it."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
