"""``core_memory_remember``: the model stores something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic.dataclasses import dataclass

from ..core.replies.outcome_text import remembered_text
from ..llm_memory import MemoryDraft, MemoryKind, Refused, Source
from ..llm_memory.reflection.rules.tags import usable_asks, usable_tags
from ..llm_memory.remember.rules.gate import (
    MAX_ASK,
    MAX_ASKS,
    MAX_JUDGMENT,
    MAX_REASONING,
    MAX_TAG,
    MAX_TAGS,
)
from .arguments import Parameter, choice, number, text, words
from .base import Call, MemoryTool

KINDS = {
    "knowledge": MemoryKind.KNOWLEDGE,
    "event": MemoryKind.EVENT,
    "skill": MemoryKind.SKILL,
    "task": MemoryKind.TASK,
    "emotional": MemoryKind.EMOTIONAL,
}


@dataclass
class RememberTool(MemoryTool):
    """Passes a draft and the conversation's id to the engine."""

    name: str = "core_memory_remember"
    description: str = (
        "把值得长期记住的事写进长期记忆（跨天、重启后仍在）。当有人说“记住……”，或透露以后会用到的事实、"
        "喜好、忌讳、约定、任务、身份、经验时调用；闲聊、一次性的问题、你自己的推测、密码和证件号不要记。"
        "一次只记一件事，judgment 写成脱离上下文也能看懂的一句话：写明是谁，把“明天”写成日期。"
        "记在哪个记忆域由系统按会话决定，你不需要也不能指定。"
        " / Store one durable fact, preference, decision, task or lesson in long-term memory."
    )
    takes: ClassVar[tuple[Parameter, ...]] = (
        text(
            "judgment",
            "要记住的一句话，写明主语，例如“奶奶对花生过敏”。",
            limit=MAX_JUDGMENT,
            required=True,
        ),
        text("reasoning", "为什么值得记、依据是什么；可留空。", limit=MAX_REASONING),
        words("tags", "judgment 里没有的同义词、类别；可留空。", most=MAX_TAGS, limit=MAX_TAG),
        words(
            "asks",
            '两三个以后会问到它的问题，换一种说法，例如 ["聚餐点菜要避开什么"]。',
            most=MAX_ASKS,
            limit=MAX_ASK,
        ),
        number(
            "strength",
            "重要程度 1-100：一般 50，性命攸关或明确要求记住 90。",
            low=1,
            high=100,
            unset=50,
        ),
        choice(
            "memory_type",
            "knowledge 事实；event 发生的事；skill 方法经验；task 待办；emotional 感受喜好。",
            KINDS,
            unset="knowledge",
        ),
    )

    async def answer(
        self,
        call: Call,
        judgment: str,
        reasoning: str,
        tags: Sequence[str],
        asks: Sequence[str],
        strength: int,
        memory_type: str,
    ) -> str:
        plugin, where = call.plugin, call.conversation_id
        if minutes := plugin.rate.wait(where, call.actor, judgment):
            return f"error {plugin.texts.say('add.too_fast', minutes=minutes)}"
        draft = MemoryDraft(
            judgment=judgment,
            reasoning=reasoning,
            tags=usable_tags(tags, judgment),
            asks=usable_asks(asks, judgment),
            strength=strength,
            kind=KINDS[memory_type],
            source=Source.TOOL,
            actor=call.actor,
            heard=call.heard,
            talk=call.talk,
        )
        outcome = await plugin.service.remember(draft, conversation_id=where)
        if not isinstance(outcome, Refused):
            call.stored.append(outcome.memory.memory.memory_id)
        word = "error" if isinstance(outcome, Refused) else "ok"
        return f"{word} {remembered_text(plugin.texts, outcome)}"
