"""Long work lets the others go on: other threads from a thread, other tasks on the loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Final

_HELD_SECONDS: Final = 0.001
_GIVEN_SECONDS: Final = 0.000_1
"""Long enough for a thread that waits to wake up; with 0 we would be back before it has."""


def cooperative[T](items: Iterable[T]) -> Iterator[T]:
    """The items, with a moment for other threads after each millisecond of work on them. Blocks.

    From a thread that computes, another thread gets the interpreter after 5 ms
    (``sys.getswitchinterval``); and a recall asks for it again and again. So two seconds of work
    behind the bot that never stops would make 20 ms of recall ten times as long.
    """
    since = time.perf_counter()
    for item in items:
        yield item
        if time.perf_counter() - since > _HELD_SECONDS:
            time.sleep(_GIVEN_SECONDS)
            since = time.perf_counter()


async def unhurried[T](items: Iterable[T]) -> AsyncIterator[T]:
    """The items, with a moment for the event loop after each millisecond or so."""
    since = time.perf_counter()
    for item in items:
        yield item
        if time.perf_counter() - since > _HELD_SECONDS:
            await asyncio.sleep(0)
            since = time.perf_counter()
