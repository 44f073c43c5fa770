"""AstrBot's own events; turns from their request to their end, and what lies in their queue."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from astrbot.api.message_components import BaseMessageComponent
from astrbot.api.provider import LLMResponse, ProviderRequest
from astrbot.core.platform.astr_message_event import AstrMessageEvent
from astrbot.core.platform.astrbot_message import AstrBotMessage, MessageMember
from astrbot.core.platform.message_type import MessageType
from astrbot.core.platform.platform_metadata import PlatformMetadata

from astrbot_plugin_scoped_memory.llm_memory.models.turns import QueuedTurn
from astrbot_plugin_scoped_memory.llm_memory.reflection.turn_store import SqliteTurnStore
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile
from astrbot_plugin_scoped_memory.tests.support.engines import MAP
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin

PEANUTS, QUESTION = "奶奶对花生过敏", "奶奶对什么过敏，花生能吃吗"
ELSEWHERE = {key: "别处" if "777" in key else name for key, name in MAP.items()}
"""A map in which the family's group belongs to another scope."""


class PlainEvent(AstrMessageEvent):
    """An event of no platform in particular."""


def message(
    kind: MessageType,
    session: str,
    *,
    group: str = "",
    sender: MessageMember | None = None,
    adapter: str = "aiocqhttp",
    account: str = "qq1",
    text: str = "",
    parts: Sequence[BaseMessageComponent] = (),
) -> AstrMessageEvent:
    """A message as an adapter hands it in: ``account`` is the owner's name for the bot."""
    made = AstrBotMessage()
    made.type, made.self_id, made.session_id, made.message_id = kind, "10000", session, "1"
    made.message, made.message_str, made.group_id = list(parts), text, group
    if sender is not None:
        made.sender = sender
    return PlainEvent(text, made, PlatformMetadata(adapter, "", account), session)


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
