"""Recall with a deadline: the bot never waits for its memory."""

from __future__ import annotations

import asyncio

from astrbot.api import logger

from ...llm_memory import Actor, ConversationId, EngineClosed, EngineOff, Recall, Trace
from ...llm_memory.policies.text import estimate_tokens
from ..plugin_context import PluginContext
from .injection_service import fence, hit_line

_NUMBERED = "10. "


class RetrievalService:
    """What a turn recalls."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin

    async def view(self, conversation_id: ConversationId) -> str:
        """What the conversation sees now, as a mark; empty where nobody can tell in time."""
        try:
            async with asyncio.timeout(self._plugin.config.recall_deadline_ms / 1000):
                return await self._plugin.service.view(conversation_id=conversation_id)
        except (TimeoutError, EngineClosed, EngineOff):
            return ""
        except Exception:  # noqa: BLE001  (whatever it is, the turn goes on)
            logger.exception(self._plugin.texts.say("log.recall_failed"))
            return ""

    async def recall_for_turn(
        self, query: str, conversation_id: ConversationId, actor: Actor | None = None
    ) -> Recall:
        """At most ``auto_inject_topk`` memories; none if the deadline passes first.

        The budget is for all that is written, the words around the memories too.
        """
        config, texts = self._plugin.config, self._plugin.texts
        if config.auto_inject_topk == 0 or not query:
            return Recall()
        try:
            async with asyncio.timeout(config.recall_deadline_ms / 1000):
                return await self._plugin.service.recall(
                    query,
                    conversation_id=conversation_id,
                    limit=config.auto_inject_topk,
                    token_budget=config.inject_token_budget - estimate_tokens(fence((), texts)),
                    actor=actor,
                    line=lambda hit: f"{_NUMBERED}{hit_line(hit, texts)}\n",
                )
        except TimeoutError:
            logger.warning(self._plugin.texts.say("log.deadline", ms=config.recall_deadline_ms))
            return Recall(trace=Trace(notes=("deadline",)))
        except (EngineClosed, EngineOff) as error:
            return Recall(trace=Trace(notes=(type(error).__name__,)))
        except Exception as error:  # noqa: BLE001  (whatever it is, the turn goes on without)
            logger.exception(self._plugin.texts.say("log.recall_failed"))
            return Recall(trace=Trace(notes=(type(error).__name__,)))
