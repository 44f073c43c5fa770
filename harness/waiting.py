"""Polling with a deadline, instead of sleeping and hoping."""

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable

POLL_SECONDS = 0.05
SELDOM_SECONDS = 0.25
"""What takes seconds is asked less often: a bot that answers has less time to get on."""


class TookTooLong(TimeoutError):
    """What was awaited did not come before its deadline."""


async def until[T](
    probe: Callable[[], Awaitable[T | None]],
    *,
    within: float,
    what: str,
    pause: float = POLL_SECONDS,
) -> T:
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
            raise TookTooLong(f"{what}: not within {within:g} seconds")
        await asyncio.sleep(pause)
        pause = min(pause * 1.1, SELDOM_SECONDS)


async def until_true(condition: Callable[[], bool], *, within: float = 60.0) -> None:
    """Wait for what other tasks of this loop, or its threads, bring about. Raises TookTooLong."""

    async def probe() -> bool:
        return condition()

    await until(probe, within=within, what="what was waited for", pause=0.005)


_RESERVED: list[socket.socket] = []


def free_port() -> int:
    """A loopback TCP port that the system gives to no other program while this process lives.

    A bound socket that does not listen keeps the port: neither another `bind` nor an outgoing
    connection is given it, and who knows its number can still listen on it with SO_REUSEADDR, as
    servers do. Without that, a start of AstrBot leaves the port open to others for many seconds.
    """
    keeper = socket.socket()
    keeper.bind(("127.0.0.1", 0))
    port: int = keeper.getsockname()[1]
    if sys.platform == "linux":  # elsewhere a bound socket would keep the server out, too
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _RESERVED.append(keeper)
    else:
        keeper.close()
    return port
