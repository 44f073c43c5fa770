"""Adds, completes and lists tasks. Each task is an entry of its own and never replaces another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.pointers import pointed_id
from ..catalogue.rules.talk_anchor import anchor_field
from ..catalogue.rules.tasks import done, find_tasks, is_done, same_task, task_of, with_task
from ..errors import VaultWriteFailed
from ..models.data_models import (
    MODEL_WORDED,
    Memory,
    MemoryDraft,
    MemoryKind,
    Provenance,
    Refused,
    Source,
    StoredMemory,
    Topic,
)
from ..models.deeds import Requester
from ..models.passages import is_for_speaker_alone, only_reader
from ..models.scope import Scope, ScopeFilter
from ..models.tasks import Task, TaskChange, TaskFate, TaskOutcome, TaskReport
from ..remember.edit import DraftChecks, MemoryEditor, not_written
from ..remember.rules.gate import is_quotation
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..text.dates.date_annotation import resolve_dates
from ..text.normalising import one_line
from ..text.overlap import is_model_worded
from ..vault.markdown_vault import MarkdownVault

READ = 2000
"""The newest tasks of a scope that are read."""


@dataclass(frozen=True, slots=True)
class TaskRequester:
    """The requester and scope of a change, with the present ``trusted`` and ``role``."""

    scope: Scope
    requester: Requester
    trusted: bool
    role: str


@dataclass(frozen=True, slots=True)
class _Words:
    """What was said of a task, checked for storage."""

    title: str
    progress: str
    next_step: str
    hidden: tuple[str, ...]


_NO_WORDS: Final = _Words("", "", "", ())


class TaskList:
    """Changes the tasks of one scope; every speaker there may. The archive keeps each former entry,
    and an admin can restore it."""

    def __init__(
        self,
        vault: MarkdownVault,
        catalogue: Catalogue,
        living: RecallableMemories,
        notices: NoticeBoard,
        checks: DraftChecks,
        handlers: MemoryEditor,
        clock: Clock,
    ) -> None:
        self._vault = vault
        self._catalogue = catalogue
        self._recallable = living
        self._notices = notices
        self._checks = checks
        self._editor = handlers
        self._clock = clock
        # If two callers add the same task at once, the second finds the first one's.
        self._lock = asyncio.Lock()

    def report(self, scope_filter: ScopeFilter, outcomes: Iterable[TaskOutcome] = ()) -> TaskReport:
        """Returns the tasks that the reader sees: own tasks first, in each scope the newest
        first."""
        seen = self._of(scope_filter)
        left = tuple(stored for stored in seen if not is_done(stored))
        return TaskReport(tuple(outcomes), left)

    async def change(
        self, change: TaskChange, by: TaskRequester, scope_filter: ScopeFilter
    ) -> list[TaskOutcome]:
        """Returns one outcome for each title. A failure does not roll back the titles before it."""
        news, who = f"{change.progress}\n{change.next_step}", by.requester.actor.name
        if await asyncio.to_thread(is_model_worded, news, change.heard, who):
            by = replace(by, trusted=False)
        async with self._lock:
            step = self._add if change.action == "add" else self._done
            return [await step(title, change, by, scope_filter) for title in change.titles]

    async def _add(
        self, title: str, change: TaskChange, by: TaskRequester, scope_filter: ScopeFilter
    ) -> TaskOutcome:
        words = await self._examined(title, change, by)
        if isinstance(words, Refused):
            return TaskOutcome(title, "refused", rejected=words)
        own = self._own(by.scope)
        known = same_task(words.title, own) or same_task(title, own)
        if known is None and pointed_id(title) is not None:  # as the list of open tasks names it
            (known,) = find_tasks(title, own) or (None,)
        if known is None:
            return await self._append(title, words, by, change)
        words = _fit_for(known, words, by)
        task = task_of(known.memory)
        news = replace(
            task,
            progress=words.progress or task.progress,
            next_step=words.next_step or task.next_step,
        )
        if not task.done and news == task:
            return TaskOutcome(title, "unchanged", known)
        fate: TaskFate = "reopened" if task.done else "updated"
        made = partial(_with_words, words=words, trusted=by.trusted)
        return await self._amended(title, known, made, by, fate, words.hidden)

    async def _done(
        self, title: str, change: TaskChange, by: TaskRequester, scope_filter: ScopeFilter
    ) -> TaskOutcome:
        mine = replace(scope_filter, scopes=(by.scope,))  # includes what only this person may read
        found = find_tasks(title, [s for s in self._of(mine) if s.scope == by.scope])
        if not found and (elsewhere := find_tasks(title, self._of(scope_filter))):
            return TaskOutcome(title, "elsewhere", elsewhere[0])
        if len(found) != 1:
            return TaskOutcome(title, "several" if found else "unknown")
        (known,) = found
        if is_done(known):
            return TaskOutcome(title, "unchanged", known)
        words = await self._examined(task_of(known.memory).title, change, by)
        if isinstance(words, Refused):
            # Its title is stored already: the note is refused, but the task is done.
            words = _NO_WORDS
        words = _fit_for(known, words, by)
        day, who = self._clock().date().isoformat(), one_line(by.requester.actor.name)

        def made(memory: Memory) -> Memory:
            return done(_with_words(memory, words, by.trusted, reopen=False), day, who)

        return await self._amended(title, known, made, by, "done", words.hidden)

    async def _amended(
        self,
        title: str,
        known: StoredMemory,
        made: Callable[[Memory], Memory],
        by: TaskRequester,
        fate: TaskFate,
        hidden: tuple[str, ...],
    ) -> TaskOutcome:
        amended = await self._editor.annotate(known, made, by.requester)
        match amended:
            case Refused("not_visible"):  # a person has just deleted it
                return TaskOutcome(title, "unknown")
            case Refused():
                return TaskOutcome(title, "refused", known, amended)
            case StoredMemory():
                return TaskOutcome(title, fate, amended, redacted=hidden)

    async def _examined(
        self, title: str, change: TaskChange, by: TaskRequester
    ) -> _Words | Refused:
        """Run the checks of every memory: private data is hidden, or the draft refused."""
        asked = MemoryDraft(
            title,
            change.progress,
            context=change.next_step,
            kind=MemoryKind.TASK,
            actor=by.requester.actor,
            heard=change.heard,
        )
        draft = await asyncio.to_thread(self._checks.examine, asked, by.scope)
        if isinstance(draft, Refused):
            return draft
        now = self._clock()
        said = (draft.judgment, draft.reasoning, draft.context)

        def dated() -> tuple[str, str, str]:
            if is_quotation(said, trusted=by.trusted):  # it stays as it was said
                return said
            return (
                resolve_dates(draft.judgment, now, weekdays=True),
                resolve_dates(draft.reasoning, now),
                resolve_dates(draft.context, now, weekdays=True),
            )

        judgment, progress, next_step = map(one_line, await asyncio.to_thread(dated))
        return _Words(judgment, progress, next_step, draft.hidden)

    async def _append(
        self, title: str, words: _Words, by: TaskRequester, change: TaskChange
    ) -> TaskOutcome:
        who = by.requester.actor.name
        worded = await asyncio.to_thread(is_model_worded, words.title, change.heard, who)
        trusted = by.trusted and not worded
        actor = by.requester.actor
        source = Source.TOOL if actor.spoke else Source.AGENT
        now = self._clock()
        said = (words.title, words.progress, words.next_step)
        quoted = await asyncio.to_thread(is_quotation, said, trusted=trusted)
        memory = Memory(
            memory_id="",  # the vault gives it one
            judgment=words.title,
            created_at=now.replace(microsecond=0),
            kind=MemoryKind.TASK,
            provenance=Provenance(
                actor.name, actor.person, by.requester.conversation, source, trusted
            ),
            role=by.role,
            extra=(*((MODEL_WORDED,) if worded else ()), *anchor_field(change.talk)),
            quoted=quoted,
        )
        task = replace(task_of(memory), progress=words.progress, next_step=words.next_step)
        memory = with_task(memory, task)
        async with self._recallable.writing:
            try:
                stored = await asyncio.to_thread(self._vault.append, by.scope, Topic.TASKS, memory)
            except VaultWriteFailed as error:
                refused = not_written(error, self._notices)
                return TaskOutcome(title, "refused", rejected=refused)
            self._recallable.take(stored)
        return TaskOutcome(title, "added", stored, redacted=words.hidden)

    def _own(self, scope: Scope) -> list[StoredMemory]:
        return self._of(ScopeFilter((scope,)))

    def _of(self, scope_filter: ScopeFilter) -> list[StoredMemory]:
        found = self._catalogue.of_topics({Topic.TASKS}, scope_filter)
        return [stored for stored, _ in zip(found, range(READ), strict=False)]


def _fit_for(known: StoredMemory, words: _Words, by: TaskRequester) -> _Words:
    """Returns no words where an agent in a private chat writes to a task that others read."""
    requester = by.requester
    alone = not requester.actor.spoke and is_for_speaker_alone(known.scope, requester.conversation)
    return _NO_WORDS if alone and only_reader(known.scope, known.memory) is None else words


def _with_words(memory: Memory, words: _Words, trusted: bool, *, reopen: bool = True) -> Memory:
    """Returns the entry with the new words about its task. Unvouched words make the entry
    untrusted, as in every merge."""
    task = task_of(memory)
    if reopen and task.done:
        task = replace(task, done=False, last_done=task.done_on or task.last_done)
    news: Task = replace(
        task,
        progress=words.progress or task.progress,
        next_step=words.next_step or task.next_step,
    )
    changed = with_task(memory, news)
    if not (words.progress or words.next_step):
        return changed
    origin = memory.provenance
    said = (memory.judgment, memory.reasoning, *memory.tags, news.progress, news.next_step)
    both = origin.trusted and trusted
    return replace(
        changed,
        provenance=replace(origin, trusted=both),
        quoted=memory.quoted or is_quotation(said, trusted=both),
    )
