"""The owner task does one thing after the other, and ends all that it began."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core import background_initializer
from astrbot_plugin_scoped_memory.core.background_initializer import BackgroundInitializer
from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory.models.migration import MigrationStatus
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


class Recorded:
    """What is begun, in its order, and what has ended."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.ended: set[str] = set()

    def lasting(self, what: str) -> Any:
        """Goes on until it is cancelled."""

        async def go(*_: object) -> None:
            self.calls.append(what)
            try:
                await asyncio.Event().wait()
            finally:
                self.ended.add(what)

        return go

    def taking(self, what: str, answer: Any = None) -> Any:
        """Ends after a while."""

        async def go() -> Any:
            for _ in range(20):
                await asyncio.sleep(0)
            self.calls.append(what)
            return answer

        return go


async def test_old_memories_come_after_the_notes_were_read_and_all_ends_with_the_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background_initializer, "_BREATH_SECONDS", 0.0)
    told = Recorded()
    engine: Any = SimpleNamespace(
        open=told.taking("open"),
        scan_notes=told.taking("notes"),
        status=told.taking("status", SimpleNamespace(total=0)),
        service=None,
        migrations=SimpleNamespace(status=MigrationStatus),
        reflection=SimpleNamespace(run=told.lasting("reader")),
        **{name: told.lasting(name) for name in ("follow", "migrate", "run")},
    )
    plugin: Any = SimpleNamespace(
        engine=engine,
        service=engine.service,
        texts=Texts("zh-CN"),
        version="1",
        schedule=SimpleNamespace(run=told.lasting("nights")),
        config=SimpleNamespace(mcp_share=None),
        choose_embedder=lambda: SimpleNamespace(label="fake"),
    )
    up = asyncio.Event()
    up.set()
    owner = BackgroundInitializer(plugin, up)
    task = asyncio.create_task(owner.run())
    lasting = {"follow", "migrate", "run", "reader", "nights"}
    await until_true(lambda: lasting <= {*told.calls})
    assert told.calls[0] == "open"
    assert told.calls.index("notes") < told.calls.index("migrate")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert told.ended == lasting
