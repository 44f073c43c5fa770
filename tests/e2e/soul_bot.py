"""What tests of SOUL do in a real bot, and the model that says what they need."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.harness.places import Place
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import ModelRequest, Script, ToolCall
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.cast import ADMIN, MEMBER
from astrbot_plugin_scoped_memory.tests.soul.test_canary_law import Smuggler
from astrbot_plugin_scoped_memory.tests.support.soul_models import ProbedModel, prefers


class Mind(Script):
    """Answers turns as ever. What the memory asks by itself is answered by ``model``."""

    def __init__(self) -> None:
        super().__init__()
        self.model: ProbedModel | Smuggler = ProbedModel("")

    def passes(self, rule: str, *, fails: frozenset[str] = frozenset()) -> None:
        """From now on answers are better under a text with this rule, but for these probes."""
        self.model = ProbedModel(rule, fails, judge=prefers("改进"))

    def read(self, request: ModelRequest) -> str:
        return self._by_itself(request)

    def answer(self, request: ModelRequest) -> tuple[ToolCall, ...] | str:
        return super().answer(request) if request.tool_names else self._by_itself(request)

    def _by_itself(self, request: ModelRequest) -> str:
        ask = self.model.complete if isinstance(self.model, Smuggler) else self.model.ask
        return at_once(ask(request.user_text, system=request.system, conversation="")).text


def at_once[T](work: Coroutine[Any, Any, T]) -> T:
    """The result of what waits for nothing."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


async def soul(rig: Rig, place: Place, words: str) -> str:
    """What the bot says to ``/记忆 人格 <words>``, in the end."""
    said = await rig.onebot.ask(place, ADMIN, f"/记忆 人格 {words}")
    return await rig.onebot.reply(place) if said.startswith("要一会儿，") else said


async def system(rig: Rig, place: Place) -> str:
    """The system prompt of a turn."""
    return (await rig.turn(place, MEMBER, "今天天气不错")).first.system


async def night(rig: Rig, place: Place) -> None:
    """A nightly run of the next day, to its end."""
    rig.clock.move(days=1)
    before = (await rig.panel.indexed())["loop"]["slept_at"]
    assert "开始整理" in await rig.onebot.ask(place, ADMIN, "/memory sleep")

    async def probe() -> bool:
        loop = (await rig.panel.ready())["loop"]
        return not loop["sleeping"] and bool(loop["slept_at"] != before)

    await until(probe, within=60, what="the end of the nightly run")


def page(rig: Rig, persona: str) -> Path:
    return rig.memory / "roles" / persona / "SOUL.md"
