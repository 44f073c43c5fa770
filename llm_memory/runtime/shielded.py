"""A small step that a cancelled caller waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


async def shielded[T](
    work: Coroutine[Any, Any, T], *, on_cancel: Callable[[], None] = lambda: None
) -> T:
    """Do ``work`` to its end, also if the caller is cancelled: he is, when it is done. A thread
    cannot be stopped, and what it has written must be known.

    ``on_cancel`` may tell it to hurry.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        on_cancel()
        await asyncio.wait([task])
        raise
