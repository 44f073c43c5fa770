"""The owner task does one thing after the other, and ends all that it began."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core import background_initializer
from astrbot_plugin_scoped_memory.core.background_initializer import BackgroundInitializer
from astrbot_plugin_scoped_memory.llm_memory.models.migration import MigrationStatus
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


class Recorded:
    """An engine, and what the task runs beside it; it notes what is begun and what has ended."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.ended: set[str] = set()
        self.all_began = asyncio.Event()
        self.service = SimpleNamespace(admin=SimpleNamespace(map_summary=self._map))
        self.migrations = SimpleNamespace(status=MigrationStatus)

    async def _map(self) -> Any:
        return SimpleNamespace(by_scope={}, ignored=0, held=0)

    async def status(self) -> Any:
        return SimpleNamespace(total=0)

    async def open(self) -> None:
        await self._takes("open")

    async def scan_notes(self) -> None:
        await self._takes("notes")

    async def _takes(self, what: str) -> None:
        for _ in range(20):
            await asyncio.sleep(0)
        self.calls.append(what)

    def lasting(self, what: str) -> Any:
        """What goes on until it is cancelled."""

        async def go(*_: object) -> None:
            self.calls.append(what)
            if len(self.calls) == 7:
                self.all_began.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.ended.add(what)

        return go


async def _nothing() -> None:
    return


async def test_old_memories_come_after_the_notes_were_read_and_end_with_the_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background_initializer, "_BREATH_SECONDS", 0.0)
    engine: Any = Recorded()
    for name in ("follow", "migrate", "run"):
        setattr(engine, name, engine.lasting(name))
    reader: Any = SimpleNamespace(run=engine.lasting("reader"))
    nights: Any = SimpleNamespace(run=engine.lasting("nights"))
    embedder: Any = SimpleNamespace(label="fake")
    share: Any = SimpleNamespace(open=_nothing, close=_nothing)
    owner = BackgroundInitializer(
        engine, lambda: embedder, Texts("zh-CN"), "1", reader, nights, share
    )
    owner.astrbot_is_up()
    task = asyncio.create_task(owner.run())
    async with asyncio.timeout(20):
        await engine.all_began.wait()
    calls = engine.calls
    assert calls[0] == "open"
    assert calls.index("open") < calls.index("notes") < calls.index("migrate")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert engine.ended == {"follow", "migrate", "run", "reader", "nights"}
