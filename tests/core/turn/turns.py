"""Turns from their request to their end, and what lies in the queue of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from astrbot.api.provider import LLMResponse, ProviderRequest

from astrbot_plugin_scoped_memory.llm_memory.models.turns import QueuedTurn
from astrbot_plugin_scoped_memory.llm_memory.reflection.turn_store import SqliteTurnStore
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile
from astrbot_plugin_scoped_memory.tests.support.engines import MAP
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin

PEANUTS, QUESTION = "奶奶对花生过敏", "奶奶对什么过敏，花生能吃吗"
ELSEWHERE = {key: "别处" if "777" in key else name for key, name in MAP.items()}
"""A map in which the family's group belongs to another scope."""


def queued(root: Path) -> list[QueuedTurn]:
    """What lies in the queue, the oldest first."""
    file = SqliteLoopFile(root / "state" / "loop.sqlite")
    file.open()
    turns = SqliteTurnStore(file)
    found = [turn for line in turns.lines() for turn in turns.waiting(line, 99)]
    file.close()
    return found


def said(root: Path) -> list[tuple[str, str]]:
    """Both sides of each."""
    return [(turn.user_text, turn.reply_text) for turn in queued(root)]


def answer(text: str | None = "不能吃", role: str = "assistant") -> LLMResponse:
    """What AstrBot hands to its hooks."""
    return LLMResponse(role=role, completion_text=text)


async def finish(
    plugin: TurnPlugin,
    event: FakeEvent | None = None,
    response: LLMResponse | None = None,
    conversation: Any = None,
) -> FakeEvent:
    """A turn from its request to its end."""
    told = event or FakeEvent.in_group(777, QUESTION)
    request = ProviderRequest(prompt=told.message_str, conversation=conversation)
    await plugin.mind.before_request(told, request)
    await plugin.finished(told, response or answer())
    return told
