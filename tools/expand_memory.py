"""``expand_memory``: the whole entry, or section of a note, behind a pointer."""

from __future__ import annotations

from typing import Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from ..core.plugin_context import PluginContext
from ..core.replies.outcome_text import entry_text, note_text
from ..llm_memory import Actor, ConversationId, Expanded, ExpandedNote, PointerNotVisible
from .arguments import Arguments
from .base import MemoryTool

MAX_POINTER = 300

DESCRIPTION = (
    "看一条记忆的全文与来历（理由、标签、时间、谁说的），或一篇笔记里的整节。"
    "pointer 用检索结果或附上的记忆里方括号中的指针，"
    "例如 preferences.md#m-01jd3q8z7kabcdef、shared/RUNBOOK.md#n-5f0c2a9d41e87b36c0da。"
    " / Show the full memory or note section behind a pointer."
)
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"pointer": {"type": "string", "description": "文件名#编号，或单独的编号。"}},
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
        if problem := arguments.finish():
            return f"error {problem}"
        if plugin.service.conversations.paused_since(conversation_id):
            return f"error {plugin.texts.say('pause.recalled_nothing')}"
        expansion = await plugin.service.expand(pointer, conversation_id=conversation_id)
        match expansion:
            case Expanded(stored):
                hits = await plugin.service.told(
                    [stored], conversation_id=conversation_id, actor=actor, chars=0
                )
                return f"ok {entry_text(plugin.texts, stored, hits[0])}"
            case ExpandedNote(section):
                return f"ok {note_text(plugin.texts, section)}"
            case PointerNotVisible():
                return f"error {plugin.texts.say('outcome.no_such_pointer')}"
