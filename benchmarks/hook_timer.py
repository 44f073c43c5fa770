"""A plugin of the benchmark's own: how long the others' ``on_llm_request`` hooks take, in ms.

Copied into a bot as its ``main.py``. The first hook of a turn notes the time, the last one the
difference, one line each, in ``hooks.txt`` beside this file.
"""

import time
from pathlib import Path

from astrbot.api.event import AstrMessageEvent, filter
from astrbot.api.provider import ProviderRequest
from astrbot.api.star import Star

_FILE = Path(__file__).with_name("hooks.txt")
_BEGAN = "hook_timer_began"


class HookTimer(Star):
    """Two hooks, one before and one after those of all others."""

    @filter.on_llm_request(priority=10_000)
    async def first(self, event: AstrMessageEvent, req: ProviderRequest) -> None:
        """Note the time."""
        event.set_extra(_BEGAN, time.perf_counter())

    @filter.on_llm_request(priority=-10_000)
    async def last(self, event: AstrMessageEvent, req: ProviderRequest) -> None:
        """Write down how long the hooks between took."""
        took = (time.perf_counter() - event.get_extra(_BEGAN)) * 1000
        with _FILE.open("a", encoding="ascii") as file:
            file.write(f"{took:.3f}\n")
