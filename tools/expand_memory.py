"""``expand_memory``: the whole entry, or section of a note, behind a pointer, and its talk."""

from __future__ import annotations

from functools import partial
from typing import Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from ..core.plugin_context import PluginContext
from ..core.replies.outcome_text import entry_text, note_text
from ..core.replies.talk_text import talk_text
from ..core.turn.transcripts import kept_history
from ..llm_memory import Actor, ConversationId, ExpandedNote, PointerNotVisible
from .arguments import Arguments
from .base import MemoryTool

MAX_POINTER = 300

DESCRIPTION = (
    "看一条记忆的全文与来历（理由、标签、时间、谁说的），或一篇笔记里的整节。"
    "pointer 用检索结果或附上的记忆里方括号中的指针，如 preferences.md#m-…、shared/RUNBOOK.md#n-…。"
    " / Show the full memory or note section behind a pointer."
)
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pointer": {"type": "string"},
        "transcript": {"type": "boolean", "description": "附上原来的对话，问为何时用。"},
    },
    "required": ["pointer"],
}


@dataclass
class ExpandTool(MemoryTool):
    """Passes the pointer and the conversation's id to the engine."""

    name: str = "expand_memory"
    description: str = DESCRIPTION
    parameters: dict[str, Any] = Field(default_factory=lambda: PARAMETERS)

    async def answer(
        self,
        plugin: PluginContext,
        arguments: Arguments,
        conversation_id: ConversationId,
        actor: Actor,
    ) -> str:
        pointer = arguments.text("pointer", limit=MAX_POINTER, required=True)
        transcript = arguments.flag("transcript")
        if problem := arguments.finish():
            return f"error {problem}"
        if plugin.service.conversations.paused_since(conversation_id):
            return f"error {plugin.texts.say('pause.recalled_nothing')}"
        expansion = await plugin.service.expand(pointer, conversation_id=conversation_id)
        if isinstance(expansion, PointerNotVisible):
            return f"error {plugin.texts.say('outcome.no_such_pointer')}"
        if isinstance(expansion, ExpandedNote):
            shown = note_text(plugin.texts, expansion.section)
        else:
            stored = expansion.memory
            hits = await plugin.service.told(
                [stored], conversation_id=conversation_id, actor=actor, chars=0
            )
            shown = entry_text(plugin.texts, stored, hits[0])
        if not transcript:
            return f"ok {shown}"
        kept = partial(kept_history, plugin.astrbot)
        talk = await plugin.service.transcript(pointer, conversation_id=conversation_id, kept=kept)
        if isinstance(talk, PointerNotVisible):  # forgotten, or paused, a moment ago
            return f"error {plugin.texts.say('outcome.no_such_pointer')}"
        return f"ok {shown}\n{talk_text(plugin.texts, talk)}"
