"""Adds, completes and lists tasks. Each task is an entry of its own and never replaces another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.pointers import pointed_id
from ..catalogue.rules.talk_anchor import anchor_field
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
from ..models.tasks import TaskChange, TaskFate, TaskOutcome, TaskReport
from ..remember.edit import DraftChecks, MemoryEditor, not_written
from ..remember.rules.gate import is_quotation
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..text.dates.date_annotation import resolve_dates
from ..text.normalising import one_line
from ..text.overlap import is_model_worded
from ..vault.markdown_vault import MarkdownVault

READ: Final = 2000
"""The newest tasks that are read."""


@dataclass(frozen=True, slots=True)
class TaskRequester:
    """The requester and scope of a change, with the present ``trusted`` and ``role``."""

    scope: Scope
    requester: Requester
    trusted: bool
    role: str


@dataclass(eq=False)
class TaskList:
    """Changes the tasks of one scope; every speaker there may. The archive keeps each former entry,
    and an admin can restore it. What is said of a task is a draft, checked as every memory is: its
    title, its progress as the reasoning, its next step as the context."""

    _vault: MarkdownVault
    _catalogue: Catalogue
    _living: RecallableMemories
    _notices: NoticeBoard
    _checks: DraftChecks
    _handlers: MemoryEditor
    _clock: Clock
    # If two callers add the same task at once, the second finds the first one's.
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def report(
        self, scope_filter: ScopeFilter, outcomes: Iterable[TaskOutcome] = ()
    ) -> TaskReport:
        """Returns the open tasks that the reader sees: own tasks first, in each scope the newest
        first."""
        tasks = self._of(scope_filter)
        left = await asyncio.to_thread(lambda: [one for one in tasks if not is_done(one)])
        return TaskReport(tuple(outcomes), tuple(left))

    async def change(
        self, change: TaskChange, by: TaskRequester, scope_filter: ScopeFilter
    ) -> list[TaskOutcome]:
        """Returns one outcome for each title. A failure does not roll back the titles before it."""
        news, who = f"{change.progress}\n{change.next_step}", by.requester.actor.name
        if await asyncio.to_thread(is_model_worded, news, change.heard, who):
            by = replace(by, trusted=False)
        async with self._lock:
            if change.action == "add":
                return [await self._add(title, change, by) for title in change.titles]
            return [await self._done(title, change, by, scope_filter) for title in change.titles]

    async def _add(self, title: str, change: TaskChange, by: TaskRequester) -> TaskOutcome:
        draft = await self._examined(title, change, by)
        if isinstance(draft, Refused):
            return TaskOutcome(title, "refused", rejected=draft)
        own = self._of(ScopeFilter((by.scope,)))
        known = await asyncio.to_thread(_same, own, title, draft.judgment)
        if known is None:
            return await self._append(title, draft, by, change)
        draft = _fit_for(known, draft, by)
        task = task_of(known.memory)
        made = partial(_amended, draft=draft, trusted=by.trusted)
        if not task.done and task_of(made(known.memory)) == task:
            return TaskOutcome(title, "unchanged", known)
        fate: TaskFate = "reopened" if task.done else "updated"
        return await self._amend(title, known, lambda it: made(reopened(it)), by, fate, draft)

    async def _done(
        self, title: str, change: TaskChange, by: TaskRequester, scope_filter: ScopeFilter
    ) -> TaskOutcome:
        mine = replace(scope_filter, scopes=(by.scope,))  # includes what only this person may read
        own = [one for one in self._of(mine) if one.scope == by.scope]
        found = await asyncio.to_thread(find_tasks, title, own)
        if not found:
            elsewhere = await asyncio.to_thread(find_tasks, title, self._of(scope_filter))
            if elsewhere:
                return TaskOutcome(title, "elsewhere", elsewhere[0])
        if len(found) != 1:
            return TaskOutcome(title, "several" if found else "unknown")
        (known,) = found
        if is_done(known):
            return TaskOutcome(title, "unchanged", known)
        draft = await self._examined(task_of(known.memory).title, change, by)
        if isinstance(draft, Refused):
            # Its title is stored already: the note is refused, but the task is done.
            draft = MemoryDraft(title)
        draft = _fit_for(known, draft, by)
        day, who = self._clock().date().isoformat(), one_line(by.requester.actor.name)

        def made(memory: Memory) -> Memory:
            return done(_amended(memory, draft, by.trusted), day, who)

        return await self._amend(title, known, made, by, "done", draft)

    async def _amend(
        self,
        title: str,
        known: StoredMemory,
        made: Callable[[Memory], Memory],
        by: TaskRequester,
        fate: TaskFate,
        draft: MemoryDraft,
    ) -> TaskOutcome:
        match await self._handlers.annotate(known, made, by.requester):
            case Refused("not_visible"):  # a person has just deleted it
                return TaskOutcome(title, "unknown")
            case Refused() as refused:
                return TaskOutcome(title, "refused", known, refused)
            case StoredMemory() as amended:
                return TaskOutcome(title, fate, amended, redacted=draft.hidden)

    async def _examined(
        self, title: str, change: TaskChange, by: TaskRequester
    ) -> MemoryDraft | Refused:
        """Returns what is said of a task on single lines, with dates: private data is hidden, or
        the draft refused."""
        asked = MemoryDraft(
            title,
            change.progress,
            context=change.next_step,
            kind=MemoryKind.TASK,
            actor=by.requester.actor,
            heard=change.heard,
        )
        now = self._clock()

        def examined() -> MemoryDraft | Refused:
            draft = self._checks.examine(asked, by.scope)
            if isinstance(draft, Refused):
                return draft
            said = [draft.judgment, draft.reasoning, draft.context]
            if not is_quotation(said, trusted=by.trusted):  # which stays as it was said
                dated = zip(said, (True, False, True), strict=True)
                said = [resolve_dates(text, now, weekdays=named) for text, named in dated]
            judgment, progress, next_step = map(one_line, said)
            return replace(draft, judgment=judgment, reasoning=progress, context=next_step)

        return await asyncio.to_thread(examined)

    async def _append(
        self, title: str, draft: MemoryDraft, by: TaskRequester, change: TaskChange
    ) -> TaskOutcome:
        actor, now = by.requester.actor, self._clock()

        def made() -> Memory:
            worded = is_model_worded(draft.judgment, change.heard, actor.name)
            trusted = by.trusted and not worded
            source = Source.TOOL if actor.spoke else Source.AGENT
            where = by.requester.conversation
            task = Memory(
                memory_id="",  # the vault gives it one
                judgment=draft.judgment,
                created_at=now.replace(microsecond=0),
                kind=MemoryKind.TASK,
                provenance=Provenance(actor.name, actor.person, where, source, trusted),
                role=by.role,
                extra=(*((MODEL_WORDED,) if worded else ()), *anchor_field(change.talk)),
                quoted=is_quotation((draft.judgment,), trusted=trusted),
            )
            return _amended(task, draft, trusted)

        memory = await asyncio.to_thread(made)
        async with self._living.writing:
            try:
                stored = await asyncio.to_thread(self._vault.append, by.scope, Topic.TASKS, memory)
            except VaultWriteFailed as error:
                refused = not_written(error, self._notices)
                return TaskOutcome(title, "refused", rejected=refused)
            self._living.take(stored)
        return TaskOutcome(title, "added", stored, redacted=draft.hidden)

    def _of(self, scope_filter: ScopeFilter) -> list[StoredMemory]:
        return list(islice(self._catalogue.of_topics({Topic.TASKS}, scope_filter), READ))


def _same(own: Sequence[StoredMemory], title: str, judgment: str) -> StoredMemory | None:
    """Returns the task with this title, as it was said or as it is stored."""
    known = same_task(judgment, own) or same_task(title, own)
    if known is None and pointed_id(title) is not None:  # as the list of open tasks names it
        (known,) = find_tasks(title, own) or (None,)
    return known


def _fit_for(known: StoredMemory, draft: MemoryDraft, by: TaskRequester) -> MemoryDraft:
    """Returns no words where an agent in a private chat writes to a task that others read."""
    requester = by.requester
    alone = not requester.actor.spoke and is_for_speaker_alone(known.scope, requester.conversation)
    if alone and only_reader(known.scope, known.memory) is None:
        return MemoryDraft(draft.judgment)
    return draft


def _amended(memory: Memory, draft: MemoryDraft, trusted: bool) -> Memory:
    """Returns the entry with what the draft says of its task. Unvouched words make the entry
    untrusted, as in every merge."""
    if not (draft.reasoning or draft.context):
        return memory
    task, origin = task_of(memory), memory.provenance
    progress, next_step = draft.reasoning or task.progress, draft.context or task.next_step
    both = origin.trusted and trusted
    said = (memory.judgment, memory.reasoning, *memory.tags, progress, next_step)
    return replace(
        with_task(memory, replace(task, progress=progress, next_step=next_step)),
        provenance=replace(origin, trusted=both),
        quoted=memory.quoted or is_quotation(said, trusted=both),
    )
