"""A slow command: however it ends, the conversation is told; what stopped it is in the log."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
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

    def debug(self, text: str) -> None:
        """Below what an owner's log keeps."""

    error = exception = info


@dataclass
class Slow:
    """A command that goes on behind until ``ends`` is called."""

    end: str | Exception
    log: Log = field(default_factory=Log)
    told: list[tuple[str, str]] = field(default_factory=list)

    async def run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        texts, behind, go_on = Texts("zh-CN"), list[asyncio.Future[None]](), asyncio.Event()
        monkeypatch.setattr(slow_command, "logger", self.log)
        monkeypatch.setattr(slow_command, "_PATIENCE_SECONDS", 0.0)

        @slow_command.slow
        async def work(_: Call) -> str:
            await go_on.wait()
            if isinstance(self.end, Exception):
                raise self.end
            return self.end

        async def send(umo: str, chain: Any) -> None:
            self.told.append((umo, chain.get_plain_text()))

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


@pytest.mark.parametrize("failure", [StateUnavailable("disk", "state.sqlite"), KeyError("x")])
async def test_whatever_stops_it_is_in_the_log(
    monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    slow = Slow(failure)
    await slow.run(monkeypatch)
    assert len(slow.log.said) == 1
    ((umo, said),) = slow.told
    assert umo == group(777).umo
    assert type(failure).__name__ in said


async def test_what_it_says_is_told_and_not_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow("找回了：我的病叫zqk")
    await slow.run(monkeypatch)
    assert slow.told == [(group(777).umo, "找回了：我的病叫zqk")]
    assert slow.log.said == []
