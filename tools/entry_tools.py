"""The tools by which the model opens, forgets or ticks off one entry that it has seen."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from ..core.replies.memory_line import shown_words
from ..core.replies.outcome_text import entry_text, note_text, refusal_text, talk_text, tasks_text
from ..llm_memory import Changed, DeedKind, NoteSection, Refused, TaskAction, TaskChange
from ..llm_memory.catalogue.rules.tasks import MAX_WORDS
from ..llm_memory.models.data_models import is_absent
from ..llm_memory.remember.rules.gate import asks_to_forget
from ..llm_memory.text.refusal_words import refusal_words
from .arguments import ANY_CASE, LINES, Arguments, Wrong
from .base import Call, MemoryTool


class Pointed(Arguments):
    pointer: str = Field(
        min_length=1, max_length=300, description="方括号中的指针，如 preferences.md#m-…"
    )


class Opened(Pointed):
    transcript: bool = Field(default=False, description="附上原来的对话，问为何时用。")


class Tasks(Arguments):
    action: Annotated[Literal["add", "done", "list"], ANY_CASE]
    tasks: Annotated[tuple[Annotated[str, Field(max_length=300)], ...], LINES] = Field(
        (), max_length=20, description='例如 ["周五前交房租"]；list 时不用。'
    )
    progress: str = Field("", max_length=MAX_WORDS, description="做到哪一步了；可留空。")
    next_step: str = Field("", max_length=MAX_WORDS, description="下一步做什么；可留空。")


@dataclass
class ExpandTool(MemoryTool):
    """Passes the pointer and the conversation's id to the engine."""

    name: str = "expand_memory"
    description: str = (
        "看指针后面的全文：一条记忆与来历（理由、标签、时间、谁说的），或一篇笔记里的整节。"
    )
    takes: ClassVar[type[Arguments]] = Opened

    async def answer(self, call: Call, pointer: str, *, transcript: bool) -> str:
        texts, service, where = call.plugin.texts, call.service, call.where
        if service.conversations.pause_of(where):
            return call.error("pause.recalled_nothing")
        expansion = await service.expand(pointer, conversation_id=where)
        if isinstance(expansion, Refused):
            return call.error("outcome.no_such_pointer")
        if isinstance(expansion, NoteSection):
            shown = note_text(texts, expansion)
        else:
            told = await service.told(
                [expansion], conversation_id=where, actor=call.said.who, chars=0
            )
            shown = entry_text(texts, expansion, told[0])
        if not transcript:
            return f"ok {shown}"
        kept = call.plugin.events.kept_history
        talk = await service.transcript(pointer, conversation_id=where, kept=kept)
        if is_absent(talk):  # forgotten, or paused, a moment ago
            return call.error("outcome.no_such_pointer")
        return f"ok {shown}\n{talk_text(texts, talk)}"


@dataclass
class ForgetTool(MemoryTool):
    """Passes the pointer, who asks and the conversation's id to the engine."""

    name: str = "forget_memory"
    description: str = (
        "忘掉一条长期记忆。只在说话的人明确要你忘掉时调用；先用 core_memory_recall 找到是哪一条，"
        "一次一条。只能忘说话人自己说的，管理员都能忘；可以撤销。结果以 ok 开头才算忘了，"
        "照它说明忘了哪句；否则如实说没有忘。"
    )
    takes: ClassVar[type[Arguments]] = Pointed

    async def answer(self, call: Call, pointer: str) -> str:
        if not call.said.who.spoke or not asks_to_forget(call.said.words):
            return call.error("forget.nobody_asked")
        outcome = await call.service.forget(
            pointer, conversation_id=call.where, actor=call.said.who
        )
        match outcome:
            case Changed(DeedKind.FORGOTTEN, stored):
                call.forgot.append(stored.memory.memory_id)
                call.plugin.talk.clear(call.where)
                words = shown_words(call.plugin.texts, stored.memory)
                return call.ok("forget.tool_done", text=words, id=stored.memory.memory_id)
            case Changed():
                return call.ok("forget.purged", count=1)
        return f"error {refusal_text(call.plugin.texts, 'forget.not_allowed', outcome)}"


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
        "done 时写清单里的原话或编号。"
    )
    takes: ClassVar[type[Arguments]] = Tasks
    shows_memories: ClassVar[bool] = True

    async def answer(
        self, call: Call, action: str, tasks: tuple[str, ...], progress: str, next_step: str
    ) -> str:
        if action != TaskAction.LIST and not tasks:
            raise Wrong("tasks", "Field required")
        said = call.said
        change = TaskChange(
            TaskAction(action), tasks, progress, next_step, heard=said.words, talk=said.talk
        )
        report = await call.service.update_tasks(change, conversation_id=call.where, actor=said.who)
        if isinstance(report, Refused):
            return f"error {call.plugin.texts.said(refusal_words(report))}"
        call.stored.extend(one.stored.memory.memory_id for one in report.outcomes if one.stored)
        told = await call.service.told(
            report.open, conversation_id=call.where, actor=said.who, chars=0
        )
        return tasks_text(call.plugin.texts, report, told)
