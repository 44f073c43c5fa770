"""Agents that AstrBot wakes by itself: a timer goes off, a background task ends, a plugin asks.

Such an event carries the conversation's origin. Its platform, group and sender are made up, so who
and where the conversation is comes from the origin alone, completed by what the engine has seen of
it in persons' own messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent

from ...llm_memory import Actor, CognitiveService, ConversationId, EngineClosed, EngineOff
from ...llm_memory.texts import Texts

_SCHEDULER = "cron"
_JOB = "cron_payload"
"""AstrBot's own extra: what the timer was set with, ``sender_id`` in it."""
_OPENING_SECONDS = 10.0
"""How long an agent waits for an engine that still opens. No person waits for such an agent."""


def adapter_of(context: Any, account: str) -> str | None:
    """The platform's type of a bot account, None where AstrBot knows no such account now."""
    platform = context.get_platform_inst(account)
    return str(platform.meta().name) or None if platform is not None else None


@dataclass(frozen=True)
class WokenAgents:
    """Tells them from messages of persons, and where and for whom they act.

    Attributes:
        adapter: Gives the platform's type of an account, None where it is unknown.
    """

    adapter: Callable[[str], str | None]
    service: Callable[[], CognitiveService]
    texts: Texts

    def woke(self, event: AstrMessageEvent) -> bool:
        """True where no platform brought the event: a timer's, or one whose platform is not the
        platform of its account. Then nothing but its origin is true."""
        name = event.get_platform_name()
        account = str(event.unified_msg_origin).split(":", 1)[0]
        return bool(name == _SCHEDULER or name != (self.adapter(account) or name))

    async def conversation_id(self, parsed: ConversationId) -> ConversationId:
        """The origin completed; ``hidden`` where what it hides cannot be told now."""
        adapter = self.adapter(parsed.account)
        try:
            async with asyncio.timeout(_OPENING_SECONDS):
                return await self.service().conversations.completed(parsed, adapter)
        except (TimeoutError, EngineClosed, EngineOff) as error:
            logger.warning(self.texts.say("log.origin_unknown", id=parsed, error=repr(error)))
            return ConversationId(
                parsed.umo, adapter, parsed.account, parsed.kind, persona=None, hidden=True
            )

    async def actor(self, event: AstrMessageEvent, conversation_id: ConversationId) -> Actor:
        """The bot, on behalf of the person who set the timer where that can be told."""
        job = event.get_extra(_JOB)
        sender = str(job.get("sender_id") or "") if isinstance(job, dict) else ""
        try:
            async with asyncio.timeout(_OPENING_SECONDS):
                found = await self.service().conversations.on_behalf_of(conversation_id, sender)
        except (TimeoutError, EngineClosed, EngineOff):
            found = None
        if found is None:
            return Actor("", self.texts.say("agent.alone"), spoke=False)
        name = self.texts.say("agent.on_behalf", name=found.name or found.peer)
        return Actor(found.person, name, spoke=False)
