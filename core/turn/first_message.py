"""A conversation's first message since the start: its id in the log, ready to be pasted into the
panel."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from contextlib import suppress

from astrbot.api import logger
from astrbot.api.event import MessageChain

from ...llm_memory import (
    Actor,
    ConversationId,
    ConversationKind,
    EngineClosed,
    EngineOff,
    Notice,
    ReadPublicOnly,
    ReadsNothing,
    Usable,
)
from ...llm_memory.scopes.scope_book import FirstContact
from ..plugin_context import PluginContext
from ..replies.memory_line import place_text
from ..replies.status_text import notice_text


async def announce_conversation(
    plugin: PluginContext, conversation_id: ConversationId, actor: Actor
) -> None:
    """Note that a person's message came, where no turn begins with it."""
    if actor.spoke:
        meeting = plugin.service.conversations.meet(conversation_id, actor)
        await log_first_message(plugin, conversation_id, meeting)


async def log_first_message(
    plugin: PluginContext, conversation_id: ConversationId, meeting: Awaitable[FirstContact | None]
) -> None:
    """Say in the log which scope a conversation has, with its first message. Where the engine is
    off there is nothing to say."""
    try:
        contact = await meeting
    except (EngineClosed, EngineOff):
        return
    if contact is not None and contact.first:
        scope = scope_line(plugin, contact.resolution)
        logger.info(
            plugin.texts.say(
                "log.first_message", id=conversation_id, scope=scope, key=conversation_id.map_key
            )
        )


async def news_beside(plugin: PluginContext, actor: Actor) -> str:
    """What an admin is told once in chat, to be said beside an answer; empty for anybody else."""
    conversations = plugin.service.conversations
    news = await conversations.claim_news(actor)
    await conversations.settle_news(news, said=True)
    return _text(plugin, news)


def _text(plugin: PluginContext, news: Sequence[Notice]) -> str:
    return "\n".join(notice_text(plugin.texts, notice) for notice in news)


async def warn_admin(plugin: PluginContext, conversation_id: ConversationId, actor: Actor) -> None:
    """Send it to an admin who has just written in a private chat."""
    if not actor.admin or conversation_id.kind is not ConversationKind.PRIVATE:
        return
    conversations = plugin.service.conversations
    with suppress(EngineClosed, EngineOff):
        if news := await conversations.claim_news(actor):
            said = plugin.texts.say("status.warning", text=_text(plugin, news))
            reached = await tell(plugin, conversation_id.umo, said)
            await conversations.settle_news(news, said=reached)


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
    texts = plugin.texts
    why = resolution.why
    reason = texts.say(f"why.{why.code}", key=why.key, value=why.value)
    match resolution:
        case Usable(scope, _):
            return texts.say("scope.usable", scope=place_text(texts, scope.name), why=reason)
        case ReadPublicOnly():
            return texts.say("scope.read_public_only", why=reason)
        case ReadsNothing():
            return texts.say("scope.refused", why=reason)
