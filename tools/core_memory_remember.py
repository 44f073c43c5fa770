"""``core_memory_remember``: the model stores something."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..core.replies.outcome_text import Enough, remembered_text
from ..llm_memory import MemoryDraft, MemoryKind, Refused
from ..llm_memory.reflection.rules.reply import usable
from ..llm_memory.remember.rules import gate
from .base import ANY_CASE, Call, listed, tool

_WORDS = listed("[,，]")
Tag = Annotated[str, Field(max_length=gate.MAX_TAG)]
Ask = Annotated[str, Field(max_length=gate.MAX_ASK)]
Kinds = Literal["knowledge", "event", "skill", "task", "emotional"]
_ASKS = '两三个以后会问到它的问题，换一种说法，例如 ["聚餐点菜要避开什么"]。'


@tool
async def core_memory_remember(
    call: Call,
    judgment: Annotated[
        str,
        Field(min_length=1, max_length=gate.MAX_JUDGMENT, description="例如“奶奶对花生过敏”。"),
    ],
    reasoning: Annotated[
        str,
        Field(max_length=gate.MAX_REASONING, description="为什么值得记、依据是什么；可留空。"),
    ] = "",
    tags: Annotated[
        tuple[Tag, ...],
        _WORDS,
        Field(max_length=gate.MAX_TAGS, description="judgment 里没有的同义词、类别；可留空。"),
    ] = (),
    asks: Annotated[
        tuple[Ask, ...], _WORDS, Field(max_length=gate.MAX_ASKS, description=_ASKS)
    ] = (),
    strength: Annotated[
        int, Field(ge=1, le=100, description="重要程度：一般 50，性命攸关或明确要求记住 90。")
    ] = 50,
    memory_type: Annotated[
        Kinds, ANY_CASE, Field(description="事实、发生的事、方法经验、待办、感受喜好。")
    ] = "knowledge",
) -> str:
    """
    把值得长期记住的事写进长期记忆（跨天、重启后仍在）。当有人说“记住……”，或透露以后会用到的事实、
    喜好、忌讳、约定、任务、身份、经验时调用；闲聊、一次性的问题、你自己的推测、密码和证件号不要记。
    一次只记一件事，judgment 写成脱离上下文也能看懂的一句话：写明是谁，把“明天”写成日期。
    记在哪个记忆域由系统按会话决定，你不需要也不能指定。
    """
    plugin, said = call.plugin, call.said
    if minutes := plugin.rate.wait(said.where, said.who, judgment):
        raise Enough(call.say("add.too_fast", minutes=minutes))
    draft = MemoryDraft(
        judgment=judgment,
        reasoning=reasoning,
        tags=usable(tags, judgment),
        asks=usable(asks, judgment),
        strength=strength,
        kind=MemoryKind[memory_type.upper()],
        actor=said.who,
        heard=said.words,
        talk=said.talk,
    )
    outcome = await plugin.service.remember(draft, conversation_id=said.where)
    text = remembered_text(plugin.texts, outcome)
    if isinstance(outcome, Refused):
        raise Enough(text)
    call.note("stored", outcome.memory.memory.memory_id)
    return text
