"""What a turn asks of the memory, with a deadline: the bot never waits for it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from astrbot.api import logger

from ...llm_memory import Actor, ContextLine, ConversationId, EngineClosed, EngineOff
from ...llm_memory.service.turns import TurnPart, TurnRequest, TurnStart
from ..plugin_context import PluginContext
from ..turn.histories import History

_LATE = {TurnPart.RECALL: "log.deadline", TurnPart.PRIMER: "log.prime_deadline"}
_FAILED = {
    TurnPart.VIEW: "log.recall_failed",
    TurnPart.RECALL: "log.recall_failed",
    TurnPart.PRIMER: "log.prime_failed",
}


class RetrievalService:
    """Asks the engine once a turn, within the budgets of the config."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin

    async def announce(self, query: str, conversation_id: ConversationId) -> None:
        """``begin_turn`` will be asked this in a moment. No failure holds up the turn."""
        if self._plugin.config.auto_inject_topk == 0 or not query:
            return
        with contextlib.suppress(EngineClosed, EngineOff):  # a reload, or the notice has said it
            await self._plugin.service.announce(query, conversation_id=conversation_id)

    async def begin_turn(
        self,
        query: str,
        conversation_id: ConversationId,
        actor: Actor,
        history: History,
        context: Sequence[ContextLine] = (),
        *,
        primed: bool = True,
    ) -> TurnStart:
        """The view's mark, at most ``auto_inject_topk`` memories, but of a week that is asked for
        one a day, and the primer after a pause, each empty if the deadline passes first.

        A runner that reads nothing but the prompt, into which the owner wants nothing, is told of
        nothing, so nothing is looked for.

        The budgets are for all that is written, the words around the memories too. ``primed`` is
        False where no person comes back: a timer that goes off.
        """
        config = self._plugin.config
        unread = self._plugin.reads_prompt_only(conversation_id) and not config.inject_into_prompt
        primed = primed and config.engine.loop.prime_after_hours > 0 and not unread
        request = TurnRequest(
            query,
            seconds=config.recall_deadline_ms / 1000,
            limit=0 if unread else config.auto_inject_topk,
            token_budget=config.inject_token_budget,
            context=context,
            history=history.cid,
            empty_history=history.empty,
            # A third-party runner keeps its history by itself: AstrBot's own stays empty.
            new_talk=history.empty and not self._plugin.reads_prompt_only(conversation_id),
            primed=primed,
        )
        start = await self._plugin.service.begin_turn(
            request, conversation_id=conversation_id, actor=actor
        )
        for part, fault in start.faults.items():
            self._say(part, fault)
        return start

    def _say(self, part: TurnPart, fault: Exception) -> None:
        texts = self._plugin.texts
        if isinstance(fault, TimeoutError):
            if part in _LATE:
                ms = self._plugin.config.recall_deadline_ms
                logger.warning(texts.say(_LATE[part], ms=ms))
        elif not isinstance(fault, (EngineClosed, EngineOff)):  # a reload, or the notice says it
            logger.error(texts.say(_FAILED[part]), exc_info=fault)
