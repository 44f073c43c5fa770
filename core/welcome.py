"""A conversation's first message since the start: its id in the log, ready to be pasted into the
panel."""

from __future__ import annotations

from astrbot.api import logger

from ..llm_memory import (
    Actor,
    ConversationId,
    EngineClosed,
    EngineOff,
    ReadPublicOnly,
    Refused,
    Usable,
)
from .plugin_context import PluginContext


async def greet(plugin: PluginContext, conversation_id: ConversationId, actor: Actor) -> None:
    """Note that a person's message came. Where the engine is off there is nothing to say."""
    if not actor.spoke:
        return
    try:
        meeting = await plugin.service.meet(conversation_id, actor)
    except (EngineClosed, EngineOff):
        return
    if meeting.first:
        scope = scope_line(plugin, meeting.resolution)
        logger.info(
            plugin.texts.say(
                "log.first_message", id=conversation_id, scope=scope, key=conversation_id.map_key
            )
        )


def scope_line(plugin: PluginContext, resolution: Usable | ReadPublicOnly | Refused) -> str:
    """One sentence: the scope and why."""
    texts = plugin.texts
    why = resolution.why
    reason = texts.say(f"why.{why.code}", key=why.key, value=why.value)
    match resolution:
        case Usable(scope, _):
            return texts.say("scope.usable", scope=scope.name, why=reason)
        case ReadPublicOnly():
            return texts.say("scope.read_public_only", why=reason)
        case Refused():
            return texts.say("scope.refused", why=reason)
