"""What is said to somebody who has not asked for it."""

from __future__ import annotations

from contextlib import suppress

from astrbot.api import logger
from astrbot.api.event import MessageChain

from ...llm_memory import Actor, ConversationId, ConversationKind, EngineClosed, EngineOff
from ..plugin_context import PluginContext
from ..replies.status_text import notice_text


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
