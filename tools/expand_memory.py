"""``expand_memory``: the whole entry, or section of a note, behind a pointer, and its talk."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from pydantic.dataclasses import dataclass

from ..core.replies.outcome_text import entry_text, note_text
from ..core.replies.tool_text import talk_text
from ..core.turn.transcripts import kept_history
from ..llm_memory import ExpandedNote, PointerNotVisible
from .arguments import Parameter, flag, text
from .base import Call, MemoryTool


@dataclass
class ExpandTool(MemoryTool):
    """Passes the pointer and the conversation's id to the engine."""

    name: str = "expand_memory"
    description: str = (
        "看一条记忆的全文与来历（理由、标签、时间、谁说的），或一篇笔记里的整节。"
        "pointer 用检索结果或附上的记忆里方括号中的指针，如 preferences.md#m-…、"
        "shared/RUNBOOK.md#n-…。"
        " / Show the full memory or note section behind a pointer."
    )
    takes: ClassVar[tuple[Parameter, ...]] = (
        text("pointer", limit=300, required=True),
        flag("transcript", "附上原来的对话，问为何时用。"),
    )

    async def answer(self, call: Call, pointer: str, *, transcript: bool) -> str:
        if call.plugin.service.conversations.paused_since(call.conversation_id):
            return f"error {call.plugin.texts.say('pause.recalled_nothing')}"
        expansion = await call.plugin.service.expand(pointer, conversation_id=call.conversation_id)
        if isinstance(expansion, PointerNotVisible):
            return f"error {call.plugin.texts.say('outcome.no_such_pointer')}"
        if isinstance(expansion, ExpandedNote):
            shown = note_text(call.plugin.texts, expansion.section)
        else:
            stored = expansion.memory
            hits = await call.plugin.service.told(
                [stored], conversation_id=call.conversation_id, actor=call.actor, chars=0
            )
            shown = entry_text(call.plugin.texts, stored, hits[0])
        if not transcript:
            return f"ok {shown}"
        kept = partial(kept_history, call.plugin.astrbot)
        talk = await call.plugin.service.transcript(
            pointer, conversation_id=call.conversation_id, kept=kept
        )
        if isinstance(talk, PointerNotVisible):  # forgotten, or paused, a moment ago
            return f"error {call.plugin.texts.say('outcome.no_such_pointer')}"
        return f"ok {shown}\n{talk_text(call.plugin.texts, talk)}"
