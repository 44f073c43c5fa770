"""How a task is stored in its entry, and which entry a request means. Pure.

A task is an ordinary entry of ``TASKS.md``. Its state is in metadata fields that a person can write
as well (``状态：完成 · 完成：2026-11-23 · 下一步：…``); if the entry begins with a checkbox as
people write lists, empty or ``[x]``, the box says whether it is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...models.data_models import Memory, StoredMemory, Topic
from ...models.passages import Passage
from ...models.tasks import Task
from ...models.vault_layout import topic_of
from ...text.normalising import one_line
from ...text.scripts import fold
from .closing import reopened as still_open
from .entry_fields import STATE, field, fields_of, others_of
from .pointers import pointed_id

MAX_WORDS = 500
"""Characters of a progress or a next step."""

_BOX = re.compile(r"\[([ \u3000xX✓✔√]?)\][ \t]+(?=\S)")
_DONE_ON, _DONE_BY = "完成", "完成者"
_PROGRESS, _NEXT, _LAST = "进度", "下一步", "上次完成"
_NAMES = (STATE, _DONE_ON, _DONE_BY, _PROGRESS, _NEXT, _LAST)
_OPEN_WORD, _DONE_WORD = "待办", "完成"
_DONE_WORDS = frozenset({_DONE_WORD, "已完成", "做完了", "完成了", "done", "x", "✓", "✔", "√"})
_ENDS = "。.!！?？;；,，、 "
_DATE = re.compile(r"\s?[（(](?:around )?[0-9]{4}[^（()）]{0,24}[）)]")
"""What ``resolve_dates`` put behind 明天."""


def task_of(memory: Memory) -> Task:
    """Returns the task in an entry. A checkbox overrides the fields: people tick it."""
    fields = fields_of(memory, _NAMES)
    box = _BOX.match(memory.judgment)
    if box is not None:
        done = bool(box[1].strip())
    else:
        done = fields.get(STATE, "").casefold() in _DONE_WORDS
    return Task(
        title=memory.judgment[box.end() :] if box else memory.judgment,
        done=done,
        done_on=fields.get(_DONE_ON, "") if done else "",
        done_by=fields.get(_DONE_BY, "") if done else "",
        progress=fields.get(_PROGRESS, ""),
        next_step=fields.get(_NEXT, ""),
        last_done=fields.get(_LAST, ""),
        boxed=box is not None,
    )


def with_task(memory: Memory, task: Task) -> Memory:
    """Returns the entry with the task's state; its title and its other fields are kept."""
    box = _BOX.match(memory.judgment)
    title = memory.judgment[box.end() :] if box else memory.judgment
    judgment = f"[{'x' if task.done else ' '}] {title}" if task.boxed else title
    state = "" if task.boxed else _DONE_WORD if task.done else ""
    if not state and not task.boxed and fields_of(memory, (STATE,)):
        state = _OPEN_WORD  # the field was there before, and people look at it
    ours = (
        (STATE, state),
        (_DONE_ON, task.done_on if task.done else ""),
        (_DONE_BY, task.done_by if task.done else ""),
        (_PROGRESS, task.progress),
        (_NEXT, task.next_step),
        (_LAST, task.last_done),
    )
    written = (field(name, value) for name, value in ours if value)
    return replace(memory, judgment=judgment, extra=(*written, *others_of(memory, _NAMES)))


def done(memory: Memory, day: str, who: str) -> Memory:
    """Returns the entry with its task done on ``day``."""
    task = task_of(memory)
    return with_task(memory, replace(task, done=True, done_on=day, done_by=who))


def reopened(memory: Memory) -> Memory:
    """Returns the entry with its task open again."""
    task = task_of(memory)
    if not task.done:
        return memory
    last = task.done_on or task.last_done
    return with_task(still_open(memory), replace(task, done=False, last_done=last))


def is_task(passage: Passage) -> bool:
    """True for an entry of a scope's tasks, with any author."""
    return isinstance(passage, StoredMemory) and topic_of(passage.path) is Topic.TASKS


def is_done(passage: Passage) -> bool:
    """True for a task that is done."""
    return (
        isinstance(passage, StoredMemory)
        and topic_of(passage.path) is Topic.TASKS
        and task_of(passage.memory).done
    )


def task_text(memory: Memory) -> str:
    """Returns a task as it is shown, in no language but its own: done and since when, or its
    progress and, behind an arrow, its next step."""
    task = task_of(memory)
    if task.done:
        return f"[x] {task.title}" + (f" ({task.done_on})" if task.done_on else "")
    more = [task.progress, f"→ {task.next_step}" if task.next_step else ""]
    said = " ".join(filter(None, more))
    return task.title + (f" ({said})" if said else "")


def task_key(title: str) -> str:
    """Returns a key that is equal for titles of one task: it ignores width, case, blanks and a sign
    at the end. Signs inside are kept (C++, C#)."""
    return one_line(fold(title)).strip(_ENDS)


def find_tasks(named: str, tasks: Iterable[StoredMemory]) -> list[StoredMemory]:
    """Returns the named task, more where several are meant: by id or pointer, by title, by title
    without dates, or the open ones whose titles hold the words. The beginning of a word is none:
    交房租 is not 交房租金."""
    known = list(tasks)
    memory_id = pointed_id(named)
    by_id = [stored for stored in known if stored.memory.memory_id == memory_id]
    if by_id:
        return by_id[:1]
    key = task_key(_BOX.sub("", named, count=1))
    if not key:
        return []
    keys = [(task_key(task_of(stored.memory).title), stored) for stored in known]
    same = [stored for own, stored in keys if own == key]
    if same:
        return _open_first(same)[:1]
    undated = _undated(key)
    if not undated:
        return []
    if same := [stored for own, stored in keys if _undated(own) == undated]:
        return same
    held = re.compile(rf"(?<![0-9a-z]){re.escape(undated)}(?=$|\W|[和跟与與及])")
    return [stored for own, stored in keys if not is_done(stored) and held.search(own)]


def same_task(title: str, tasks: Iterable[StoredMemory]) -> StoredMemory | None:
    """Returns the task with exactly this title, open tasks before done ones."""
    key = task_key(_BOX.sub("", title, count=1))
    same = [s for s in tasks if key and task_key(task_of(s.memory).title) == key]
    return _open_first(same)[0] if same else None


def _undated(key: str) -> str:
    return _DATE.sub("", key).strip()


def _open_first(tasks: Sequence[StoredMemory]) -> list[StoredMemory]:
    return sorted(tasks, key=is_done)
