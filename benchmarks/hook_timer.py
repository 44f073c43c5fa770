"""A plugin of the benchmark's own: how long the others' hooks take around an answer, in ms.

Copied into a bot as its ``main.py``. The first hook of a kind notes the time, the last one the
difference, one line each, in files beside this one: ``hooks.txt`` of both kinds before the model is
asked, together; ``ends.txt`` of those after it has answered.

With a ``tools.json`` beside it, as a model was sent it, it has these tools, which do nothing:
AstrBot checks the description of every plugin's tool at every message.
"""

import json
import time
from pathlib import Path
from typing import Any

from astrbot.api import FunctionTool
from astrbot.api.event import AstrMessageEvent, filter
from astrbot.api.provider import ProviderRequest
from astrbot.api.star import Star

_HERE = Path(__file__).parent
_BEGAN = "hook_timer_began"
_BEFORE = "hook_timer_before"
_FIRST, _LAST = 100_000, -100_000


def _write(name: str, event: AstrMessageEvent, before: float = 0.0) -> None:
    took = before + _took(event)
    with (_HERE / name).open("a", encoding="ascii") as file:
        file.write(f"{took:.3f}\n")


def _took(event: AstrMessageEvent) -> float:
    return (time.perf_counter() - event.get_extra(_BEGAN)) * 1000


class HookTimer(Star):
    """Of each kind two hooks, one before and one after those of all others."""

    async def initialize(self) -> None:
        """Take the tools, if there are any."""
        file = _HERE / "tools.json"
        if file.exists():
            told = [tool["function"] for tool in json.loads(file.read_text(encoding="utf-8"))]
            self.context.add_llm_tools(*(FunctionTool(**tool) for tool in told))

    @filter.on_waiting_llm_request(priority=_FIRST)
    async def first_waiting(self, event: AstrMessageEvent) -> None:
        """Note the time."""
        event.set_extra(_BEGAN, time.perf_counter())

    @filter.on_waiting_llm_request(priority=_LAST)
    async def last_waiting(self, event: AstrMessageEvent) -> None:
        """Note how long the hooks between took: AstrBot goes on before it asks the next ones."""
        event.set_extra(_BEFORE, _took(event))

    @filter.on_llm_request(priority=_FIRST)
    async def first(self, event: AstrMessageEvent, req: ProviderRequest) -> None:
        """Note the time."""
        event.set_extra(_BEGAN, time.perf_counter())

    @filter.on_llm_request(priority=_LAST)
    async def last(self, event: AstrMessageEvent, req: ProviderRequest) -> None:
        """Write down how long the hooks between took."""
        _write("hooks.txt", event, event.get_extra(_BEFORE) or 0.0)

    @filter.on_agent_done(priority=_FIRST)
    async def first_end(self, event: AstrMessageEvent, run_context: Any, response: Any) -> None:
        """Note the time."""
        event.set_extra(_BEGAN, time.perf_counter())

    @filter.on_agent_done(priority=_LAST)
    async def last_end(self, event: AstrMessageEvent, run_context: Any, response: Any) -> None:
        """Write down how long the hooks between took."""
        _write("ends.txt", event)
