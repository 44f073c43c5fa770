"""A slow command: however it ends, the conversation is told and the log has it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core.commands import slow_command
from astrbot_plugin_scoped_memory.core.commands.call import Call
from astrbot_plugin_scoped_memory.core.commands.typing_rate import TypingRate
from astrbot_plugin_scoped_memory.core.latest import Latest
from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.engines import group, person

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
    told: list[tuple[str, str]] = []

    @slow_command.slow
    async def work(_: Call) -> str:
        await go_on.wait()
        raise failure

    async def send(umo: str, chain: Any) -> None:
        told.append((umo, chain.get_plain_text()))

    plugin: Any = SimpleNamespace(
        texts=texts,
        spawn=lambda work: behind.append(asyncio.ensure_future(work)),
        astrbot=SimpleNamespace(send_message=send),
    )
    rate, lists, drafts = TypingRate(), Latest[Any, Any](1), Latest[Any, Any](1)
    answer = await work(Call(plugin, group(777), person(1), "", rate, lists, drafts))
    assert answer == texts.say("slow.goes_on")
    go_on.set()
    await behind[0]
    assert len(log.said) == 1
    ((umo, said),) = told
    assert umo == group(777).umo
    assert type(failure).__name__ in said
