"""``/memory pause`` and ``/memory resume``: a conversation off the record, and on it again."""

from __future__ import annotations

from ...llm_memory import (
    Actor,
    ConversationId,
    NotAllowed,
    Paused,
    Rejected,
    Resumed,
    StateUnavailable,
)
from ..plugin_context import PluginContext
from ..replies.loop_text import moment
from ..replies.outcome_text import rejected_text


class PauseCommands:
    """One method a command, as in ``Commands``."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin
        self._say = plugin.texts.say

    async def pause(self, conversation_id: ConversationId, actor: Actor, _: str) -> str:
        """Nothing of this conversation is kept or recalled from now on."""
        service = self._plugin.service
        try:
            outcome = await service.pause(conversation_id=conversation_id, actor=actor)
        except StateUnavailable as error:
            return self._say("pause.not_written", detail=error.cause)
        match outcome:
            case Paused(since, before):
                return self._say("pause.already" if before else "pause.done", since=moment(since))
            case NotAllowed():
                return self._say("pause.not_allowed")
            case Rejected():
                return rejected_text(self._plugin.texts, outcome)

    async def resume(self, conversation_id: ConversationId, actor: Actor, _: str) -> str:
        """As before the pause."""
        service = self._plugin.service
        try:
            outcome = await service.resume(conversation_id=conversation_id, actor=actor)
        except StateUnavailable as error:
            return self._say("pause.not_written", detail=error.cause)
        match outcome:
            case Resumed(before):
                return self._say("pause.not_paused" if before else "pause.resumed")
            case NotAllowed():
                return self._say("pause.not_allowed")
