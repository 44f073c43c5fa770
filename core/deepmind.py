"""One turn: recall, then inject."""

from __future__ import annotations

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent
from astrbot.api.provider import ProviderRequest
from astrbot.core.agent.message import TextPart

from ..llm_memory import ConversationId
from .plugin_context import PluginContext
from .services.injection_service import fence
from .services.retrieval_service import RetrievalService
from .welcome import greet


class DeepMind:
    """What happens around one request to the model."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin
        self._retrieval = RetrievalService(plugin)

    async def before_request(self, event: AstrMessageEvent, request: ProviderRequest) -> None:
        """Recall for the person's words and put the result behind them, once a turn."""
        plugin = self._plugin
        plugin.astrbot_is_up()
        conversation_id = await plugin.turns.conversation_id(event)
        plugin.spawn(greet(plugin, conversation_id, plugin.turns.actor(event)))
        if plugin.turns.is_command(event) or not plugin.turns.claim_injection(event):
            return
        query = plugin.turns.user_text(event)
        recall = await self._retrieval.recall_for_turn(
            query, conversation_id, plugin.turns.actor(event)
        )
        if not recall.hits:
            return
        self._inject(request, fence(recall.hits, plugin.texts), conversation_id)
        logger.info(plugin.texts.say("log.injected", count=len(recall.hits), id=conversation_id))

    def _inject(self, request: ProviderRequest, text: str, conversation_id: ConversationId) -> None:
        if self._plugin.reads_prompt_only(conversation_id):
            if self._plugin.config.inject_into_prompt:
                request.prompt = f"{request.prompt or ''}\n\n{text}"
            return
        # Temporary: sent after the person's own text, never saved to the history, and the system
        # prompt stays as it is, so that the provider's prefix cache holds.
        request.extra_user_content_parts.append(TextPart(text=text).mark_as_temp())
