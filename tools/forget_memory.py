"""``forget_memory``: the model forgets what its speaker asks it to forget."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from ..core.commands.memory_reference import shown_words
from ..core.replies.outcome_text import refusal_text
from ..llm_memory import Forgotten, Purged
from ..llm_memory.remember.rules.forget_wishes import asks_to_forget
from .arguments import Parameter, text
from .base import Call, MemoryTool


@dataclass
class ForgetTool(MemoryTool):
    """Passes the pointer, who asks and the conversation's id to the engine."""

    name: str = "forget_memory"
    description: str = (
        "忘掉一条长期记忆。只在说话的人明确要你忘掉时调用；先用 core_memory_recall 找到是哪一条，"
        "一次一条。只能忘说话人自己说的，管理员都能忘；可以撤销。结果以 ok 开头才算忘了，"
        "照它说明忘了哪句；否则如实说没有忘。"
        " / Forget one memory at its speaker's request."
    )
    takes: ClassVar[tuple[Parameter, ...]] = (
        text("pointer", "那一行里的指针，如 preferences.md#m-…", limit=300, required=True),
    )

    async def answer(self, call: Call, pointer: str) -> str:
        texts = call.plugin.texts
        if not call.actor.spoke or not asks_to_forget(call.heard or ""):
            return f"error {texts.say('forget.nobody_asked')}"
        outcome = await call.plugin.service.forget(
            pointer, conversation_id=call.conversation_id, actor=call.actor
        )
        match outcome:
            case Forgotten(stored):
                words, memory_id = shown_words(texts, stored.memory), stored.memory.memory_id
                call.plugin.talk.clear(call.conversation_id)
                return f"ok {texts.say('forget.tool_done', text=words, id=memory_id)}"
            case Purged():
                return f"ok {texts.say('forget.purged', count=1)}"
        return f"error {refusal_text(texts, 'forget.not_allowed', outcome)}"
