"""A slow command: however it ends, the conversation is told; what stopped it is in the log."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core.commands import call as call_module
from astrbot_plugin_scoped_memory.core.commands.call import Call
from astrbot_plugin_scoped_memory.core.latest import Latest
from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.engines import group, person

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


@pytest.mark.parametrize(
    ("end", "said", "logged"),
    [
        (StateUnavailable("disk", "state.sqlite"), "StateUnavailable", 1),
        (KeyError("x"), "KeyError", 1),
        ("找回了：我的病叫zqk", "找回了：我的病叫zqk", 0),  # and no word of it is in the log
    ],
)
async def test_its_end_is_told(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    end: str | Exception,
    said: str,
    logged: int,
) -> None:
    texts, behind, go_on = Texts("zh-CN"), list[asyncio.Future[None]](), asyncio.Event()
    told: list[tuple[str, str]] = []
    monkeypatch.setattr(call_module, "_PATIENCE_SECONDS", 0.0)

    @call_module.slow
    async def work(_: Call) -> str:
        await go_on.wait()
        if isinstance(end, Exception):
            raise end
        return end

    async def send(umo: str, chain: Any) -> None:
        told.append((umo, chain.get_plain_text()))

    plugin: Any = SimpleNamespace(
        texts=texts,
        spawn=lambda work: behind.append(asyncio.ensure_future(work)),
        astrbot=SimpleNamespace(send_message=send),
    )
    lists, drafts = Latest[Any, Any](1), Latest[Any, Any](1)
    with caplog.at_level(logging.INFO):
        answer = await work(Call(plugin, group(777), person(1), "", lists, drafts))
        assert answer == texts.say("slow.goes_on")
        go_on.set()
        await behind[0]
    ((umo, text),) = told
    assert umo == group(777).umo
    assert said in text
    assert len(caplog.records) == logged
