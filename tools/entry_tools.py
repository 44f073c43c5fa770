"""The tools by which the model opens, forgets or ticks off one entry that it has seen."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from pydantic.dataclasses import dataclass

from ..core.replies.memory_line import shown_words
from ..core.replies.outcome_text import refusal_text
from ..core.replies.tool_text import entry_text, note_text, talk_text, tasks_text
from ..core.turn.histories import kept_history
from ..llm_memory import (
    ExpandedNote,
    Forgotten,
    Purged,
    Refused,
    TaskAction,
    TaskChange,
)
from ..llm_memory.catalogue.rules.tasks import MAX_WORDS
from ..llm_memory.models.data_models import is_absent
from ..llm_memory.remember.rules.off_the_record import asks_to_forget
from ..llm_memory.text.refusal_words import refusal_words
from .arguments import Parameter, Wrong, choice, flag, text, words
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
        if call.plugin.service.conversations.pause_of(call.conversation_id):
            return f"error {call.plugin.texts.say('pause.recalled_nothing')}"
        expansion = await call.plugin.service.expand(pointer, conversation_id=call.conversation_id)
        if isinstance(expansion, Refused):
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
        if is_absent(talk):  # forgotten, or paused, a moment ago
            return f"error {call.plugin.texts.say('outcome.no_such_pointer')}"
        return f"ok {shown}\n{talk_text(call.plugin.texts, talk)}"


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
                call.forgot.append(memory_id)
                call.plugin.talk.clear(call.conversation_id)
                return f"ok {texts.say('forget.tool_done', text=words, id=memory_id)}"
            case Purged():
                return f"ok {texts.say('forget.purged', count=1)}"
        return f"error {refusal_text(texts, 'forget.not_allowed', outcome)}"


@dataclass
class TasksTool(MemoryTool):
    """Passes the change and the conversation's id to the engine."""

    name: str = "update_tasks"
    description: str = (
        "管理这个会话的待办清单（TASKS.md，跨天、重启后仍在）。有人要你记一件要做的事、说某件事做完了、"
        "有了进展，或问还有什么没做时调用。add 添上（同名的更新进度，做完过的重新打开），"
        "done 标为做完，list 列出没做完的。每次只传有变化的，"
        "没提到的任务原样不动；什么都不会被删掉。"
        "tasks 每项一件事，写成脱离上下文也能看懂的一句话，把“明天”写成日期；"
        "done"
        " 时写清单里的原话或编号。"
        " / Add, complete or list this conversation's tasks; those that are not"
        " named stay as they are."
    )
    takes: ClassVar[tuple[Parameter, ...]] = (
        choice(
            "action",
            "add 添上或更新；done 做完；list 列出。",
            [action.value for action in TaskAction],
            unset=TaskAction.LIST.value,
            required=True,
        ),
        words(
            "tasks",
            '要做的事，例如 ["周五前交房租"]。list 时不用。',
            most=20,
            limit=300,
            lines=True,
        ),
        text("progress", "做到哪一步了；可留空。", limit=MAX_WORDS),
        text("next_step", "下一步做什么；可留空。", limit=MAX_WORDS),
    )
    shows_memories: ClassVar[bool] = True

    async def answer(
        self, call: Call, action: str, tasks: tuple[str, ...], progress: str, next_step: str
    ) -> str:
        if action != TaskAction.LIST and not tasks:
            raise Wrong("missing", name="tasks")
        change = TaskChange(
            TaskAction(action), tasks, progress, next_step, heard=call.heard, talk=call.talk
        )
        report = await call.plugin.service.update_tasks(
            change, conversation_id=call.conversation_id, actor=call.actor
        )
        if isinstance(report, Refused):
            return f"error {call.plugin.texts.said(refusal_words(report))}"
        call.stored.extend(one.stored.memory.memory_id for one in report.outcomes if one.stored)
        told = await call.plugin.service.told(
            report.open, conversation_id=call.conversation_id, actor=call.actor, chars=0
        )
        return tasks_text(call.plugin.texts, report, told)
