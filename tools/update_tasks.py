"""``update_tasks``: the list of things to do."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from ..core.replies.tool_text import tasks_text
from ..llm_memory import Rejected, TaskAction, TaskChange
from ..llm_memory.catalogue.rules.tasks import MAX_WORDS
from ..llm_memory.text.refusal_words import refusal_words
from .arguments import Parameter, Wrong, choice, text, words
from .base import Call, MemoryTool


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
        if isinstance(report, Rejected):
            return f"error {call.plugin.texts.said(refusal_words(report))}"
        call.stored.extend(one.stored.memory.memory_id for one in report.outcomes if one.stored)
        told = await call.plugin.service.told(
            report.open, conversation_id=call.conversation_id, actor=call.actor, chars=0
        )
        return tasks_text(call.plugin.texts, report, told)
