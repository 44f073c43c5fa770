"""What the turn asks of a plugin beside commands and tools: its config and the runner in force."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

from astrbot_plugin_scoped_memory.core.config import read_config
from astrbot_plugin_scoped_memory.core.deepmind import DeepMind
from astrbot_plugin_scoped_memory.core.turn.events import Said
from astrbot_plugin_scoped_memory.llm_memory import Actor, ConversationId, Recall
from astrbot_plugin_scoped_memory.llm_memory.service.turns import TurnStart
from astrbot_plugin_scoped_memory.tests.support.engines import Rig
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent, FakePlugin

PATIENT = 60_000
"""Milliseconds; these tests are about what is injected, not when."""


class TurnPlugin(FakePlugin):
    """A FakePlugin with a config. In every conversation ``persona`` is in force, and ``runner`` is
    AstrBot's runner type."""

    def __init__(
        self,
        rig: Rig,
        *,
        runner: str | None = "local",
        persona: str | None = "",
        **config: Any,
    ) -> None:
        super().__init__(rig, persona=persona)
        self.config = replace(read_config(), **{"recall_deadline_ms": PATIENT, **config})
        agent_runner = None if runner is None else {"runner_type": runner}
        self.astrbot.get_config = lambda umo: {"agent_runner": agent_runner}

    @cached_property
    def mind(self) -> Any:
        """The hooks of a turn."""
        me: Any = self
        return DeepMind(me)

    async def finished(self, event: Any, answer: Any) -> None:
        """AstrBot says that the turn is over, and what goes on behind it is over, too."""
        await self.mind.finished(event, answer)
        await self.settled()


async def recalled_for_turn(plugin: TurnPlugin, query: str, where: ConversationId) -> Recall:
    """What a turn in ``where`` recalls for a speaker whom the platform does not name."""
    said = Said(where, Actor("", "", spoke=False), query, "", "")
    event: Any = FakeEvent(where.umo, query)
    start: TurnStart = await plugin.mind.begin(event, said)
    return start.recall
