"""``update_tasks``: the list of things to do."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from ..core.plugin_context import PluginContext
from ..core.replies.task_text import tasks_text
from ..llm_memory import Actor, ConversationId, Rejected, TaskAction, TaskChange
from ..llm_memory.catalogue.rules.tasks import MAX_WORDS
from ..llm_memory.text.refusal_words import refusal_words
from .arguments import Arguments
from .base import MemoryTool

MOST_TASKS = 20
MAX_TITLE = 300

DESCRIPTION = (
    "管理这个会话的待办清单（TASKS.md，跨天、重启后仍在）。有人要你记一件要做的事、说某件事做完了、"
    "有了进展，或问还有什么没做时调用。add 添上（同名的更新进度，做完过的重新打开），"
    "done 标为做完，list 列出没做完的。每次只传有变化的，没提到的任务原样不动；什么都不会被删掉。"
    "tasks 每项一件事，写成脱离上下文也能看懂的一句话，把“明天”写成日期；"
    "done 时写清单里的原话或编号。"
    " / Add, complete or list this conversation's tasks; those that are not named stay as they are."
)
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "action": {
            "type": "string",
            "enum": [action.value for action in TaskAction],
            "description": "add 添上或更新；done 做完；list 列出。",
        },
        "tasks": {
            "type": "array",
            "items": {"type": "string"},
            "description": '要做的事，例如 ["周五前交房租"]。list 时不用。',
        },
        "progress": {"type": "string", "description": "做到哪一步了；可留空。"},
        "next_step": {"type": "string", "description": "下一步做什么；可留空。"},
    },
    "required": ["action"],
}


@dataclass
class TasksTool(MemoryTool):
    """Passes the change and the conversation's id to the engine."""

    name: str = "update_tasks"
    description: str = DESCRIPTION
    parameters: dict[str, Any] = Field(default_factory=lambda: PARAMETERS)
    shows_memories: ClassVar[bool] = True

    async def answer(
        self,
        plugin: PluginContext,
        arguments: Arguments,
        conversation_id: ConversationId,
        actor: Actor,
    ) -> str:
        action = arguments.choice("action", [a.value for a in TaskAction], TaskAction.LIST.value)
        named = action != TaskAction.LIST
        change = TaskChange(
            TaskAction(action),
            arguments.lines("tasks", most=MOST_TASKS, limit=MAX_TITLE, required=named),
            arguments.text("progress", limit=MAX_WORDS),
            arguments.text("next_step", limit=MAX_WORDS),
            heard=arguments.heard,
            talk=arguments.talk,
        )
        if problem := arguments.finish():
            return f"error {problem}"
        report = await plugin.service.update_tasks(
            change, conversation_id=conversation_id, actor=actor
        )
        if isinstance(report, Rejected):
            return f"error {plugin.texts.said(refusal_words(report))}"
        arguments.stored += [one.stored.memory.memory_id for one in report.outcomes if one.stored]
        told = await plugin.service.told(
            report.open, conversation_id=conversation_id, actor=actor, chars=0
        )
        return tasks_text(plugin.texts, report, told)
