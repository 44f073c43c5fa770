"""Polling with a deadline, instead of sleeping and hoping."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

POLL_SECONDS = 0.05


class TookTooLong(TimeoutError):
    """What was awaited did not come before its deadline."""


async def until[T](probe: Callable[[], Awaitable[T | None]], *, within: float, what: str) -> T:
    """The first value of `probe` that is neither None nor False, asked again and again.

    Raises TookTooLong, which names `what`, after `within` seconds.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    while True:
        value = await probe()
        if value is not None and value is not False:
            return value
        if loop.time() >= deadline:
            message = f"{what}: not within {within:g} seconds"
            raise TookTooLong(message)
        await asyncio.sleep(POLL_SECONDS)


def free_port() -> int:
    """A loopback TCP port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
