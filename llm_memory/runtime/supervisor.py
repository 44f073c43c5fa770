"""What runs behind for as long as an engine is open, and whose end somebody sees."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ..errors import EngineClosed
from ..log import logger
from ..models.status import Notice
from .notice_board import NoticeBoard


@dataclass(eq=False)
class Supervisor:
    """Logs what nobody expected with its traceback, tells the owner, and begins again.

    ``_retry`` returns the seconds to wait after so many failures before the last.
    """

    _notices: NoticeBoard
    _retry: Callable[[int], float]
    _tasks: list[asyncio.Task[None]] = field(init=False, default_factory=list)

    def start(self, part: str, work: Callable[[], Awaitable[object]]) -> None:
        """Keep up work behind the caller, until ``close``."""
        self._tasks.append(
            asyncio.create_task(self.supervise(part, work), name=f"scoped-memory-{part}")
        )

    async def supervise(self, part: str, work: Callable[[], Awaitable[object]]) -> None:
        """Do work to its end, or until cancelled; begin it again after each error."""
        failures = 0
        while not await self.attempt(part, work):
            await asyncio.sleep(self._retry(failures))
            failures += 1

    async def attempt(self, part: str, work: Callable[[], Awaitable[object]]) -> bool:
        """Do work that the caller can do without. Returns False for an error, which is told."""
        try:
            await work()
        except EngineClosed:
            return True
        except Exception as error:  # noqa: BLE001  (whatever it is: the others go on)
            self.tell(part, error)
            return False
        return True

    def tell(self, part: str, error: Exception) -> None:
        """Log an error with its traceback, and let a notice stand that names the part."""
        trace = "".join(traceback.format_exception(error))
        logger.error("part_failed", part=part, trace=trace)
        params = {"part": part, "detail": str(error) or type(error).__name__}
        self._notices.post(Notice("part_failed", part, params, error=True))

    async def close(self) -> None:
        """Cancel what runs, and wait for its end. Idempotent."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
