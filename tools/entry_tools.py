"""The tools by which the model opens, forgets or ticks off one entry that it has seen."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..core.replies.outcome_text import (
    WHOLE,
    Enough,
    place_text,
    redacted_text,
    refusal_text,
    shown_words,
)
from ..llm_memory import Hit, Memory, NoteSection, Refused, TaskChange, TaskReport
from ..llm_memory.catalogue.rules.tasks import MAX_WORDS
from ..llm_memory.models.turns import ShownTurn
from ..llm_memory.remember.rules.gate import asks_to_forget
from ..llm_memory.text.hit_line import hit_line
from ..llm_memory.text.refusal_words import refusal_words
from ..llm_memory.text.safe_text import cut, safe, safe_line, safe_pointer, shown_name
from ..llm_memory.texts import Texts
from .base import ANY_CASE, Call, listed, tool

Pointer = Annotated[
    str, Field(min_length=1, max_length=300, description="方括号中的指针，如 preferences.md#m-…")
]
_TASK, _TITLE = 160, 60
"""Characters of an open task, and of what was passed as one."""
_TASKS = 30
_FAILED = ("unknown", "several", "elsewhere", "refused")
_BACK = "    "
"""What stands back by it looks like no line of ours."""


@tool
async def expand_memory(
    call: Call,
    pointer: Pointer,
    *,
    transcript: Annotated[bool, Field(description="附上原来的对话，问为何时用。")] = False,
) -> str:
    """看指针后面的全文：一条记忆与来历（理由、标签、时间、谁说的），或一篇笔记里的整节。"""
    texts, service, where = call.plugin.texts, call.plugin.service, call.said.where
    if service.pause_of(where):
        raise Enough(call.say("pause.recalled_nothing"))
    found = await service.expand(pointer, conversation_id=where)
    if isinstance(found, Refused):
        raise Enough(call.say("outcome.no_such_pointer"))
    if isinstance(found, NoteSection):
        shown = note_text(texts, found)
    else:
        who = call.said.who
        (hit,) = await service.told([found], conversation_id=where, actor=who, chars=WHOLE)
        shown = entry_text(texts, found.memory, hit)
    if not transcript:
        return shown
    talk: ShownTurn | Refused | str = await service.talk_of(pointer, conversation_id=where)
    if isinstance(talk, str):
        kept = await call.plugin.events.kept_history(where.umo, talk) or ""
        talk = await service.transcript(pointer, kept, conversation_id=where)
    return f"{shown}\n{_talk_text(texts, talk)}"


def entry_text(texts: Texts, memory: Memory, hit: Hit) -> str:
    """A whole entry: as recall tells it, with its reasons and tags."""
    reasoning = f"\n{_BACK}".join(map(safe, memory.reasoning.split("\n")))
    fields = {"reasoning": reasoning, "tags": safe(", ".join(memory.tags))}
    said = (texts.say(f"entry.{name}", text=text) for name, text in fields.items() if text)
    return "\n".join([hit_line(hit, texts), *said])


def note_text(texts: Texts, section: NoteSection) -> str:
    """A whole section of a note, with where it stands."""
    chunk, say = section.chunk, texts.say
    time = chunk.modified.isoformat(timespec="minutes")
    place = place_text(texts, chunk.place.name)
    lines = [
        say("entry.note_head", pointer=safe_pointer(chunk.pointer), place=place),
        say("entry.note_lines", first=section.first, last=section.last, time=time),
        *(f"{_BACK}{safe_line(line)}".rstrip() for line in section.text.split("\n")),
        *texts.counted("entry", note_cut=section.cut),
    ]
    return "\n".join(lines)


def _talk_text(texts: Texts, turn: ShownTurn | Refused) -> str:
    """What the person said, and what the bot answered; or why there is no talk."""
    if isinstance(turn, Refused):
        return texts.said(refusal_words(turn))
    who = shown_name(turn.who) or texts.say("talk.somebody")
    time = f"[{turn.at:%Y-%m-%d %H:%M}] " if turn.at else ""
    said = texts.say("talk.said", who=who, text=safe(turn.said) or texts.say("talk.kept_back"))
    lines = [texts.say("talk.head"), f"{_BACK}→ {time}{said}"]
    if turn.replied:
        lines.append(f"{_BACK}{texts.say('talk.replied', text=safe(turn.replied))}")
    return "\n".join(lines)


@tool
async def forget_memory(call: Call, pointer: Pointer) -> str:
    """
    忘掉一条长期记忆。只在说话的人明确要你忘掉时调用；先用 core_memory_recall 找到是哪一条，
    一次一条。只能忘说话人自己说的，管理员都能忘；可以撤销。结果以 ok 开头才算忘了，
    照它说明忘了哪句；否则如实说没有忘。
    """
    plugin, said = call.plugin, call.said
    if not said.who.spoke or not asks_to_forget(said.words):
        raise Enough(call.say("forget.nobody_asked"))
    outcome = await plugin.service.forget(pointer, conversation_id=said.where, actor=said.who)
    if isinstance(outcome, Refused):
        raise Enough(refusal_text(plugin.texts, "forget.not_allowed", outcome))
    memory = outcome.memory.memory
    call.note("forgot", memory.memory_id)
    plugin.talk.clear(said.where)
    words = shown_words(plugin.texts, memory)
    return call.say("forget.tool_done", text=words, id=memory.memory_id)


@tool
async def update_tasks(
    call: Call,
    action: Annotated[Literal["add", "done", "list"], ANY_CASE],
    tasks: Annotated[
        tuple[Annotated[str, Field(max_length=300)], ...],
        listed("\n"),
        Field(max_length=20, description='例如 ["周五前交房租"]；list 时不用。'),
    ] = (),
    progress: Annotated[
        str, Field(max_length=MAX_WORDS, description="做到哪一步了；可留空。")
    ] = "",
    next_step: Annotated[
        str, Field(max_length=MAX_WORDS, description="下一步做什么；可留空。")
    ] = "",
) -> str:
    """
    管理这个会话的待办清单（TASKS.md，跨天、重启后仍在）。有人要你记一件要做的事、说某件事做完了、
    有了进展，或问还有什么没做时调用。add 添上（同名的更新进度，做完过的重新打开），
    done 标为做完，list 列出没做完的。每次只传有变化的，没提到的任务原样不动；什么都不会被删掉。
    tasks 每项一件事，写成脱离上下文也能看懂的一句话，把“明天”写成日期；
    done 时写清单里的原话或编号。
    """
    if action != "list" and not tasks:
        why = "Field required"
        raise Enough(call.say("outcome.wrong_argument", name="tasks", why=why))
    plugin, said = call.plugin, call.said
    change = TaskChange(action, tasks, progress, next_step, heard=said.words, talk=said.talk)
    where, who = said.where, said.who
    report = await plugin.service.update_tasks(change, conversation_id=where, actor=who)
    if isinstance(report, Refused):
        raise Enough(refusal_text(plugin.texts, "", report))
    call.note("stored", *(one.stored.memory.memory_id for one in report.outcomes if one.stored))
    told = await plugin.service.told(report.open, conversation_id=where, actor=who, chars=_TASK)
    call.note("recalled", *(hit.memory_id for hit in told))
    return _tasks_text(plugin.texts, report, told)


def _tasks_text(texts: Texts, report: TaskReport, open_tasks: list[Hit]) -> str:
    """One line a title, then what is open, as recall tells it. Raises Enough with them if nothing
    that was asked for could be done."""
    lines = []
    for one in report.outcomes:
        why = refusal_words(one.rejected) if one.rejected else ""
        said = texts.say(f"tasks.{one.fate}", title=cut(one.title, _TITLE), why=why)
        lines.append(said + redacted_text(texts, one.redacted))
    lines += [
        texts.say("todo.head" if open_tasks else "todo.nothing", count=len(open_tasks)),
        *(f"- {hit_line(hit, texts)}" for hit in open_tasks[:_TASKS]),
        *texts.counted("todo", more=max(0, len(open_tasks) - _TASKS)),
    ]
    if report.outcomes and all(one.fate in _FAILED for one in report.outcomes):
        raise Enough("\n".join(lines))
    return "\n".join(lines)
