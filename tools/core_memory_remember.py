"""``core_memory_remember``: the model stores something."""

from __future__ import annotations

from typing import Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from ..core.plugin_context import PluginContext
from ..core.replies.outcome_text import remembered_text
from ..llm_memory import Actor, ConversationId, MemoryDraft, MemoryKind, Rejected, Source
from ..llm_memory.reflection.rules.tags import usable_asks, usable_tags
from ..llm_memory.remember.rules.normalise import (
    MAX_ASK,
    MAX_ASKS,
    MAX_JUDGMENT,
    MAX_REASONING,
    MAX_TAG,
    MAX_TAGS,
)
from .arguments import Arguments
from .base import MemoryTool

KINDS = {
    "knowledge": MemoryKind.KNOWLEDGE,
    "event": MemoryKind.EVENT,
    "skill": MemoryKind.SKILL,
    "task": MemoryKind.TASK,
    "emotional": MemoryKind.EMOTIONAL,
}

DESCRIPTION = (
    "把值得长期记住的事写进长期记忆（跨天、重启后仍在）。当有人说“记住……”，或透露以后会用到的事实、"
    "喜好、忌讳、约定、任务、身份、经验时调用；闲聊、一次性的问题、你自己的推测、密码和证件号不要记。"
    "一次只记一件事，judgment 写成脱离上下文也能看懂的一句话：写明是谁，把“明天”写成日期。"
    "记在哪个记忆域由系统按会话决定，你不需要也不能指定。"
    " / Store one durable fact, preference, decision, task or lesson in long-term memory."
)
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "judgment": {
            "type": "string",
            "description": "要记住的一句话，写明主语，例如“奶奶对花生过敏”。",
        },
        "reasoning": {"type": "string", "description": "为什么值得记、依据是什么；可留空。"},
        "tags": {
            "type": "array",
            "items": {"type": "string"},
            "description": "judgment 里没有的同义词、类别；可留空。",
        },
        "asks": {
            "type": "array",
            "items": {"type": "string"},
            "description": '两三个以后会问到它的问题，换一种说法，例如 ["聚餐点菜要避开什么"]。',
        },
        "strength": {
            "type": "integer",
            "minimum": 1,
            "maximum": 100,
            "description": "重要程度 1-100：一般 50，性命攸关或明确要求记住 90。",
        },
        "memory_type": {
            "type": "string",
            "enum": list(KINDS),
            "description": (
                "knowledge 事实；event 发生的事；skill 方法经验；task 待办；emotional 感受喜好。"
            ),
        },
    },
    "required": ["judgment"],
}


@dataclass
class RememberTool(MemoryTool):
    """Passes a draft and the conversation's id to the engine."""

    name: str = "core_memory_remember"
    description: str = DESCRIPTION
    parameters: dict[str, Any] = Field(default_factory=lambda: PARAMETERS)

    async def answer(
        self,
        plugin: PluginContext,
        arguments: Arguments,
        conversation_id: ConversationId,
        actor: Actor,
    ) -> str:
        judgment = arguments.text("judgment", limit=MAX_JUDGMENT, required=True)
        draft = MemoryDraft(
            judgment=judgment,
            reasoning=arguments.text("reasoning", limit=MAX_REASONING),
            tags=usable_tags(arguments.words("tags", most=MAX_TAGS, limit=MAX_TAG), judgment),
            asks=usable_asks(arguments.words("asks", most=MAX_ASKS, limit=MAX_ASK), judgment),
            strength=arguments.number("strength", default=50, low=1, high=100),
            kind=KINDS[arguments.choice("memory_type", KINDS, "knowledge")],
            source=Source.TOOL,
            actor=actor,
            heard=arguments.heard,
            talk=arguments.talk,
        )
        if problem := arguments.finish():
            return f"error {problem}"
        outcome = await plugin.service.remember(draft, conversation_id=conversation_id)
        if not isinstance(outcome, Rejected):
            arguments.stored.append(outcome.memory.memory.memory_id)
        word = "error" if isinstance(outcome, Rejected) else "ok"
        return f"{word} {remembered_text(plugin.texts, outcome)}"
