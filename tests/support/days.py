"""A bot to which things happen on days that a test names."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from astrbot_plugin_scoped_memory.llm_memory import ConversationId, MemoryKind
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=SHANGHAI)
FAMILY = group(777)


@dataclass
class ZonedClock:
    """Stands still until it is set; tells the time of a zone."""

    now: datetime
    zone: tzinfo

    def __call__(self) -> datetime:
        return self.now.astimezone(self.zone)


@dataclass
class Days(Rig):
    """An open engine without an index, and its clock."""

    clock: ZonedClock

    async def happened(self, at: datetime, text: str, where: ConversationId = FAMILY) -> None:
        """An event is told when it happens."""
        self.clock.now = at
        await self.remember(text, where, person(1), kind=MemoryKind.EVENT)

    async def told(self, query: str, where: ConversationId = FAMILY, limit: int = 20) -> list[str]:
        """What is recalled."""
        return await self.texts(query, where, limit)


@contextlib.asynccontextmanager
async def living_days(
    root: Path, now: datetime = NOON, zone: tzinfo = SHANGHAI, **options: Any
) -> AsyncIterator[Days]:
    """A bot over ``root`` in a zone."""
    clock = ZonedClock(now, zone)
    async with running(root, clock=clock, **{"follow": False, **options}) as rig:
        yield Days(**vars(rig))
