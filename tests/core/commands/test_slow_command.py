"""A command that goes on after its answer: however it ends, the log has it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.commands import slow_command
from astrbot_plugin_scoped_memory.core.plugin_context import PluginContext
from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


class Log:
    def __init__(self) -> None:
        self.said: list[str] = []

    def info(self, text: str) -> None:
        self.said.append(text)

    error = exception = info


@pytest.mark.parametrize("failure", [StateUnavailable("disk", "state.sqlite"), KeyError("x")])
async def test_whatever_ends_it_is_in_the_log(
    monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    log, texts, behind = Log(), Texts("zh-CN"), list[asyncio.Future[None]]()
    monkeypatch.setattr(slow_command, "logger", log)
    monkeypatch.setattr(slow_command, "_PATIENCE_SECONDS", 0.0)
    go_on = asyncio.Event()

    async def work() -> str:
        await go_on.wait()
        raise failure

    plugin: Any = SimpleNamespace(
        texts=texts, spawn=lambda work: behind.append(asyncio.ensure_future(work))
    )
    answer = await slow_command.answer_or_continue(
        cast(PluginContext, plugin), work, "log.command_failed"
    )
    assert answer == texts.say("log.command_failed")
    go_on.set()
    await behind[0]
    assert len(log.said) == 1
