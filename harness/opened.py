"""What is used as ``async with Thing() as thing``, and servers on loopback."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Self

from aiohttp import web


class Opened:
    """What ``_open`` puts on the stack is closed at the end, also where the rest of it fails."""

    _stack: AsyncExitStack

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        try:
            await self._open(self._stack)
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        await self._stack.aclose()

    async def _open(self, stack: AsyncExitStack) -> None:
        raise NotImplementedError


async def serve(app: web.Application, stack: AsyncExitStack) -> int:
    """Listen as long as the stack is open, whatever still hangs then: the port."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port: int = runner.addresses[0][1]
    return port
