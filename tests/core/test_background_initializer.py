"""The owner task does one thing after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core import background_initializer
from astrbot_plugin_scoped_memory.core.background_initializer import own
from astrbot_plugin_scoped_memory.llm_memory.models.migration import MigrationStatus
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


async def test_old_memories_come_after_the_notes_were_read_and_files_are_followed_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background_initializer, "_BREATH_SECONDS", 0.0)
    calls, spawned = list[str](), list[asyncio.Task[Any]]()

    def taking(what: str, answer: Any = None) -> Any:
        async def go(*_: object) -> Any:
            await asyncio.sleep(0)
            calls.append(what)
            return answer

        return go

    def spawn(work: Coroutine[Any, Any, None], name: str) -> None:
        spawned.append(asyncio.create_task(work, name=name))

    engine = SimpleNamespace(
        status=taking("status", SimpleNamespace(total=0)),
        migrations=SimpleNamespace(status=MigrationStatus),
        reflection=SimpleNamespace(run=taking("reader")),
        **{name: taking(name) for name in ("open", "scan_notes", "follow", "migrate", "run")},
    )
    plugin: Any = SimpleNamespace(
        engine=engine,
        texts=Texts("zh-CN"),
        version="1",
        schedule=SimpleNamespace(run=taking("nights")),
        config=SimpleNamespace(mcp_share=None),
        choose_embedder=lambda: SimpleNamespace(label="fake"),
        spawn=spawn,
    )
    up = asyncio.Event()
    owner = asyncio.create_task(own(plugin, up))
    for _ in range(20):
        await asyncio.sleep(0)
    assert calls == ["open", "status", "follow", "scan_notes"]  # AstrBot is not up yet
    up.set()
    await owner
    await asyncio.gather(*spawned)
    assert {*calls[4:]} == {"migrate", "reader", "nights", "run"}
