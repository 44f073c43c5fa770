"""Adds, completes and lists tasks. Each task is an entry of its own and never replaces another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.pointers import pointed_id
from ..catalogue.rules.tasks import (
    done,
    find_tasks,
    is_done,
    reopened,
    same_task,
    task_of,
    with_task,
)
from ..errors import VaultWriteFailed
from ..models.data_models import Memory, MemoryDraft, MemoryKind, Refused, StoredMemory, Topic
from ..models.passages import is_for_speaker_alone, only_reader
from ..models.scope import Scope, ScopeFilter
from ..models.tasks import TaskChange, TaskFate, TaskOutcome, TaskReport
from ..remember.edit import not_written
from ..remember.memory_handlers import MemoryHandlers, Said
from ..remember.rules.gate import is_quotation
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..scopes.access import View
from ..text.dates.date_annotation import resolve_dates
from ..text.normalising import one_line
from ..text.overlap import is_model_worded
from ..vault.markdown_vault import MarkdownVault

READ: Final = 2000
"""The newest tasks that are read."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """``trusted``: whoever says it is, and these are his words."""

    change: TaskChange
    view: View
    scope: Scope
    trusted: bool


@dataclass(eq=False)
class TaskList:
    """Changes the tasks of one scope; every speaker there may. The archive keeps each former entry,
    and an admin can restore it. What is said of a task is made as every memory is, with its
    progress as the reasoning and its next step as the context."""

    _vault: MarkdownVault
    _catalogue: Catalogue
    _living: RecallableMemories
    _notices: NoticeBoard
    _handlers: MemoryHandlers
    _clock: Clock
    # If two callers add the same task at once, the second finds the first one's.
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def update(self, change: TaskChange, view: View) -> TaskReport | Refused:
        """Returns one outcome for each title, and the open tasks that the reader sees: own tasks
        first, in each scope the newest first. A failure does not roll back the titles before it."""
        outcomes = list[TaskOutcome]()
        if change.action != "list" or view.silence:
            if isinstance(scope := view.records, Refused):
                return scope
            news = f"{change.progress}\n{change.next_step}"
            worded = await asyncio.to_thread(is_model_worded, news, change.heard, view.who.name)
            asked = _Asked(change, view, scope, view.trusts(scope) and not worded)
            act = self._add if change.action == "add" else self._done
            async with self._lock:
                outcomes = [await act(title, asked) for title in change.titles]
        tasks = self._of(view.seen)
        left = await asyncio.to_thread(lambda: [one for one in tasks if not is_done(one)])
        return TaskReport(tuple(outcomes), tuple(left))

    async def _add(self, title: str, asked: _Asked) -> TaskOutcome:
        made = await self._made(title, asked)
        if isinstance(made, Refused):
            return TaskOutcome(title, "refused", rejected=made)
        known = await asyncio.to_thread(_same, self._own(asked), title, made[0].judgment)
        if known is None:
            return await self._append(title, asked, *made)
        fate: TaskFate = "reopened" if is_done(known) else "updated"
        wanted = TaskOutcome(title, fate, known)
        return await self._amend(wanted, known, asked, *made, reopened)

    async def _done(self, title: str, asked: _Asked) -> TaskOutcome:
        found = await asyncio.to_thread(find_tasks, title, self._own(asked))
        if len(found) != 1:
            seen = [] if found else self._of(asked.view.seen)
            if elsewhere := await asyncio.to_thread(find_tasks, title, seen):
                return TaskOutcome(title, "elsewhere", elsewhere[0])
            return TaskOutcome(title, "several" if found else "unknown")
        (known,) = found
        if is_done(known):
            return TaskOutcome(title, "unchanged", known)
        made = await self._made(task_of(known.memory).title, asked)
        if isinstance(made, Refused):  # the note is; but its title is stored, and the task is done
            made = replace(known.memory, reasoning="", context=""), MemoryDraft(title)
        day, who = self._clock().date().isoformat(), one_line(asked.view.who.name)
        wanted = TaskOutcome(title, "done", known)
        return await self._amend(wanted, known, asked, *made, partial(done, day=day, who=who))

    async def _made(self, title: str, asked: _Asked) -> tuple[Memory, MemoryDraft] | Refused:
        """Returns what is said of a task, on single lines, with dates and without private data; or
        why it is refused."""
        change, where = asked.change, asked.view.where
        next_step = partial(resolve_dates, one_line(change.next_step), weekdays=True)
        draft = MemoryDraft(
            one_line(title),
            one_line(change.progress),
            context=await asyncio.to_thread(next_step, self._clock()),
            kind=MemoryKind.TASK,
            actor=asked.view.who,
            heard=change.heard,
            talk=change.talk,
        )
        by = Said(where.umo, where.persona or "", asked.trusted)
        return await self._handlers.made(draft, asked.scope, by, "")

    async def _amend(
        self,
        wanted: TaskOutcome,
        known: StoredMemory,
        asked: _Asked,
        said: Memory,
        draft: MemoryDraft,
        then: Callable[[Memory], Memory],
    ) -> TaskOutcome:
        """Write the news into a known task, and what becomes of it, but nothing of what an agent in
        a private chat writes to a task that others read."""
        view = asked.view
        alone = not view.who.spoke and is_for_speaker_alone(known.scope, view.where.umo)
        if alone and only_reader(known.scope, known.memory) is None:
            said = replace(said, reasoning="", context="")

        def made(memory: Memory) -> Memory:
            return _amended(then(memory), said, trusted=asked.trusted)

        if task_of(made(known.memory)) == task_of(known.memory):
            return replace(wanted, fate="unchanged")
        amended = await self._handlers.annotate(known, made, view.requester)
        if isinstance(amended, StoredMemory):
            return replace(wanted, stored=amended, redacted=draft.hidden)
        if amended.reason == "not_visible":  # a person has just deleted it
            return TaskOutcome(wanted.title, "unknown")
        return replace(wanted, fate="refused", rejected=amended)

    async def _append(
        self, title: str, asked: _Asked, said: Memory, draft: MemoryDraft
    ) -> TaskOutcome:
        plain = replace(said, reasoning="", context="")
        task = _amended(plain, said, trusted=said.provenance.trusted)
        async with self._living.writing:
            try:
                stored = await asyncio.to_thread(self._vault.append, asked.scope, Topic.TASKS, task)
            except VaultWriteFailed as error:
                return TaskOutcome(title, "refused", rejected=not_written(error, self._notices))
            self._living.take(stored)
        return TaskOutcome(title, "added", stored, redacted=draft.hidden)

    def _own(self, asked: _Asked) -> list[StoredMemory]:
        """Returns those of the scope that is written, also what only this person may read."""
        own = self._of(replace(asked.view.seen, scopes=(asked.scope,)))
        return [one for one in own if one.scope == asked.scope]

    def _of(self, scope_filter: ScopeFilter) -> list[StoredMemory]:
        return list(islice(self._catalogue.of_topics({Topic.TASKS}, scope_filter), READ))


def _same(own: Sequence[StoredMemory], title: str, judgment: str) -> StoredMemory | None:
    """Returns the task with this title, as it was said or as it is stored, or as the list of open
    tasks names it."""
    named = find_tasks(title, own)[:1] if pointed_id(title) is not None else []
    return same_task(judgment, own) or same_task(title, own) or next(iter(named), None)


def _amended(memory: Memory, said: Memory, *, trusted: bool) -> Memory:
    """Returns the entry with the news of its task. Unvouched words make the entry untrusted, as in
    every merge."""
    if not (said.reasoning or said.context):
        return memory
    task, both = task_of(memory), memory.provenance.trusted and trusted
    progress, next_step = said.reasoning or task.progress, said.context or task.next_step
    words = (memory.judgment, memory.reasoning, *memory.tags, progress, next_step)
    return replace(
        with_task(memory, replace(task, progress=progress, next_step=next_step)),
        provenance=replace(memory.provenance, trusted=both),
        quoted=memory.quoted or is_quotation(words, trusted=both),
    )
