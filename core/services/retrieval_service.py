"""Recall with a deadline: the bot never waits for its memory."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from ...llm_memory import Actor, ContextLine, ConversationId, EngineClosed, EngineOff, Recall, Trace
from ...llm_memory.recall.rules.day_digest import WEEK
from ...llm_memory.text.normalising import estimate_tokens
from ..plugin_context import PluginContext
from ..turn.histories import History
from .deadline import in_time
from .injection_service import fence, hit_line

_NUMBERED = "10. "


class RetrievalService:
    """What a turn recalls."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin

    async def view(self, conversation_id: ConversationId, history: History) -> str:
        """What the conversation sees now, as a mark; empty where nobody can tell in time."""
        return await in_time(
            self._plugin,
            lambda: self._plugin.service.view(
                conversation_id=conversation_id, history=history.cid, empty=history.empty
            ),
            lambda _: "",
            failed="log.recall_failed",
        )

    async def announce(self, query: str, conversation_id: ConversationId) -> None:
        """``recall_for_turn`` will be asked this in a moment. Whatever goes wrong, nobody waits."""
        if self._plugin.config.auto_inject_topk == 0 or not query:
            return
        with contextlib.suppress(EngineClosed, EngineOff):  # a reload, or the notice has said it
            await self._plugin.service.announce(query, conversation_id=conversation_id)

    async def recall_for_turn(
        self,
        query: str,
        conversation_id: ConversationId,
        actor: Actor | None = None,
        context: Sequence[ContextLine] = (),
    ) -> Recall:
        """At most ``auto_inject_topk`` memories, but of a week that is asked for one a day; none if
        the deadline passes first.

        The budget is for all that is written, the words around the memories too.
        """
        config, texts = self._plugin.config, self._plugin.texts
        if config.auto_inject_topk == 0 or not query:
            return Recall()
        return await in_time(
            self._plugin,
            lambda: self._plugin.service.recall(
                query,
                conversation_id=conversation_id,
                limit=config.auto_inject_topk,
                token_budget=config.inject_token_budget - estimate_tokens(fence((), texts)),
                actor=actor,
                line=lambda hit: f"{_NUMBERED}{hit_line(hit, texts)}\n",
                days=WEEK,
                context=context,
                in_talk=True,
            ),
            lambda why: Recall(trace=Trace(notes=(why,))),
            late="log.deadline",
            failed="log.recall_failed",
        )
