"""``core_memory_remember``: the model stores something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field
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
from .arguments import ANY_CASE, WORDS, Arguments
from .base import Call, MemoryTool

Tags = tuple[Annotated[str, Field(max_length=MAX_TAG)], ...]
Asks = tuple[Annotated[str, Field(max_length=MAX_ASK)], ...]
KINDS = {
    "knowledge": MemoryKind.KNOWLEDGE,
    "event": MemoryKind.EVENT,
    "skill": MemoryKind.SKILL,
    "task": MemoryKind.TASK,
    "emotional": MemoryKind.EMOTIONAL,
}


class Draft(Arguments):
    judgment: str = Field(
        min_length=1, max_length=MAX_JUDGMENT, description="例如“奶奶对花生过敏”。"
    )
    reasoning: str = Field(
        "", max_length=MAX_REASONING, description="为什么值得记、依据是什么；可留空。"
    )
    tags: Annotated[Tags, WORDS] = Field(
        (), max_length=MAX_TAGS, description="judgment 里没有的同义词、类别；可留空。"
    )
    asks: Annotated[Asks, WORDS] = Field(
        (),
        max_length=MAX_ASKS,
        description='两三个以后会问到它的问题，换一种说法，例如 ["聚餐点菜要避开什么"]。',
    )
    strength: int = Field(
        50, ge=1, le=100, description="重要程度：一般 50，性命攸关或明确要求记住 90。"
    )
    memory_type: Annotated[
        Literal["knowledge", "event", "skill", "task", "emotional"], ANY_CASE
    ] = Field(
        "knowledge",
        description="事实、发生的事、方法经验、待办、感受喜好。",
    )


@dataclass
class RememberTool(MemoryTool):
    """Passes a draft and the conversation's id to the engine."""

    name: str = "core_memory_remember"
    description: str = (
        "把值得长期记住的事写进长期记忆（跨天、重启后仍在）。当有人说“记住……”，或透露以后会用到的事实、"
        "喜好、忌讳、约定、任务、身份、经验时调用；闲聊、一次性的问题、你自己的推测、密码和证件号不要记。"
        "一次只记一件事，judgment 写成脱离上下文也能看懂的一句话：写明是谁，把“明天”写成日期。"
        "记在哪个记忆域由系统按会话决定，你不需要也不能指定。"
    )
    takes: ClassVar[type[Arguments]] = Draft

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
        if minutes := call.plugin.rate.wait(call.where, call.said.who, judgment):
            return call.error("add.too_fast", minutes=minutes)
        draft = MemoryDraft(
            judgment=judgment,
            reasoning=reasoning,
            tags=usable_tags(tags, judgment),
            asks=usable_asks(asks, judgment),
            strength=strength,
            kind=KINDS[memory_type],
            source=Source.TOOL,
            actor=call.said.who,
            heard=call.said.words,
            talk=call.said.talk,
        )
        outcome = await call.service.remember(draft, conversation_id=call.where)
        refused = isinstance(outcome, Refused)
        if not isinstance(outcome, Refused):
            call.stored.append(outcome.memory.memory.memory_id)
        return f"{'error' if refused else 'ok'} {remembered_text(call.plugin.texts, outcome)}"
