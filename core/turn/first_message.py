"""A conversation's first message since the start: its id in the log, ready to be pasted into the
panel; and what is said to somebody who has not asked for it."""

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import suppress

from astrbot.api import logger
from astrbot.api.event import MessageChain

from ...llm_memory import (
    Actor,
    ConversationId,
    ConversationKind,
    EngineClosed,
    EngineOff,
    ReadPublicOnly,
    ReadsNothing,
    Usable,
)
from ...llm_memory.models.resolution import Resolution
from ..plugin_context import PluginContext
from ..replies.memory_line import place_text
from ..replies.status_text import notice_text


async def announce_conversation(
    plugin: PluginContext, conversation_id: ConversationId, actor: Actor
) -> None:
    """Note that a person's message came, where no turn begins with it."""
    if actor.spoke:
        meeting = plugin.service.meet(conversation_id, actor)
        await log_first_message(plugin, conversation_id, meeting)


async def log_first_message(
    plugin: PluginContext, conversation_id: ConversationId, meeting: Awaitable[Resolution | None]
) -> None:
    """Say in the log which scope a conversation has, with its first message."""
    with suppress(EngineClosed, EngineOff):  # there is nothing to say
        resolution = await meeting
        if resolution is not None:
            about = {"id": conversation_id, "key": conversation_id.map_key}
            scope = scope_line(plugin, resolution)
            logger.info(plugin.texts.say("log.first_message", scope=scope, **about))


async def news_beside(plugin: PluginContext, actor: Actor) -> str:
    """What an admin is told once in chat, to be said beside an answer; empty for anybody else."""
    service = plugin.service
    news = await service.claim_news(actor)
    await service.settle_news(news, said=True)
    return "\n".join(notice_text(plugin.texts, notice) for notice in news)


async def warn_admin(plugin: PluginContext, conversation_id: ConversationId, actor: Actor) -> None:
    """Send it to an admin who has just written in a private chat."""
    if not actor.admin or conversation_id.kind is not ConversationKind.PRIVATE:
        return
    service, texts = plugin.service, plugin.texts
    with suppress(EngineClosed, EngineOff):
        if news := await service.claim_news(actor):
            text = "\n".join(notice_text(texts, notice) for notice in news)
            said = texts.say("status.warning", text=text)
            reached = await tell(plugin, conversation_id.umo, said)
            await service.settle_news(news, said=reached)


async def tell(plugin: PluginContext, umo: str, text: str) -> bool:
    """Say something in a conversation that nobody there has asked for. False where it did not
    arrive."""
    try:
        return bool(await plugin.astrbot.send_message(umo, MessageChain().message(text)))
    except Exception:  # noqa: BLE001  (whatever the platform raises, the work goes on)
        logger.exception(plugin.texts.say("log.warning_unsent"))
        return False


def scope_line(plugin: PluginContext, resolution: Usable | ReadPublicOnly | ReadsNothing) -> str:
    """One sentence: the scope and why."""
    texts, why = plugin.texts, resolution.why
    reason = texts.say(f"why.{why.code}", key=why.key, value=why.value)
    if isinstance(resolution, Usable):
        scope = place_text(texts, resolution.scope.name)
        return texts.say("scope.usable", scope=scope, why=reason)
    refused = isinstance(resolution, ReadsNothing)
    return texts.say("scope.refused" if refused else "scope.read_public_only", why=reason)
