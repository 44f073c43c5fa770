"""What a conversation writes into its own scope: memories, tasks, what was learned, and whole
files."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from ..consolidation.overviews import Overviews
from ..errors import InvalidScope
from ..models.conversation import Actor, ConversationId
from ..models.data_models import (
    MemoryDraft,
    Reason,
    Refused,
    RememberOutcome,
    Stored,
    StoredMemory,
)
from ..models.roles import Noted, NoteOutcome, RoleNote
from ..models.settings import EngineSettings
from ..models.tasks import TaskAction, TaskChange, TaskOutcome, TaskReport
from ..models.transfer import Exported, Imported
from ..models.turns import Feedback, FeedbackReport, Ticket
from ..reflection.feedback_applier import FeedbackApplier
from ..remember.deeds import Deeds
from ..remember.edit import MemoryEditor
from ..remember.memory_handlers import MemoryHandlers
from ..roles.role_notes import RoleNotes
from ..runtime.identifiers import Clock
from ..scopes.rules.scope_resolution import target_scope
from ..scopes.scope_book import ScopeBook
from ..tasks.task_list import TaskList, TaskRequester
from ..text.normalising import derived_id
from ..transfer.conversation_transfer import Terms, Transfer
from ..transfer.line_files import LineFile
from ..vault.notes.note_book import NoteBook
from .door import Door, deed


@dataclass(eq=False)
class Writes(Door):
    """What is stored, of a conversation or of a file."""

    _settings: EngineSettings
    _book: ScopeBook
    _handlers: MemoryHandlers
    _applier: FeedbackApplier
    _editor: MemoryEditor
    _corrected: Deeds
    _tasks: TaskList
    _transfer: Transfer
    _overviews: Overviews
    _role_notes: RoleNotes
    _notes: NoteBook
    _clock: Clock

    @deed
    async def remember(
        self, draft: MemoryDraft, *, conversation_id: ConversationId
    ) -> RememberOutcome:
        """Store a draft in the conversation's own scope. What returns Stored is on disk. A call
        that is repeated, by the draft's key, is one write; what was forgotten since stays so."""
        view = await self._gate.open(conversation_id, draft.actor)
        scope = view.records
        if isinstance(scope, Refused):
            return scope
        memory_id = derived_id("m", scope.name, draft.key) if draft.key else ""
        if memory_id:
            known = await self._handlers.stands(scope, memory_id)
            if isinstance(known, StoredMemory):
                return Stored(known)
            if known or self._corrected.was_taken_out(scope.name, memory_id):
                return Refused(Reason.CORRECTED)
        outcome = await self._handlers.remember(
            draft,
            scope,
            conversation=conversation_id.umo,
            trusted=view.trusts(scope),
            role=conversation_id.persona or "",
            memory_id=memory_id,
        )
        if isinstance(outcome, Stored) and outcome.former is not None:
            await self._corrected.replaced(outcome.memory, outcome.former, view.requester)
        return outcome

    @deed
    async def update_tasks(
        self, change: TaskChange, *, conversation_id: ConversationId, actor: Actor
    ) -> TaskReport | Refused:
        """Add tasks to the conversation's own scope, say that some are done, or list those that it
        sees. None is ever dropped. Every speaker there may."""
        view = await self._gate.open(conversation_id, actor)
        scope, outcomes = view.records, list[TaskOutcome]()
        if change.action is not TaskAction.LIST or view.silence:
            if isinstance(scope, Refused):
                return scope
            role = conversation_id.persona or ""
            by = TaskRequester(scope, view.requester, view.trusts(scope), role)
            outcomes = await self._tasks.change(change, by, view.seen)
        return self._tasks.report(view.seen, outcomes)

    @deed
    async def refresh_overview(self, *, conversation_id: ConversationId) -> None:
        """Write MEMORY.md and PRIMER.md of the conversation's own scope anew, as the nightly run
        does. Raises VaultWriteFailed."""
        scope = (await self._gate.open(conversation_id)).records
        if not isinstance(scope, Refused):
            await self._overviews.run(scope)

    @deed
    async def note_role(self, note: RoleNote, *, conversation_id: ConversationId) -> NoteOutcome:
        """Append what a session did to the day's file of the role that the caller holds, and renew
        that role's MEMORY.md; recall finds it from then on. The same words of today or yesterday
        are one block."""
        scope = (await self._gate.open(conversation_id)).records
        if isinstance(scope, Refused):
            return scope
        outcome = await asyncio.to_thread(self._role_notes.append, note, self._clock())
        if isinstance(outcome, Noted) and outcome.file:
            await self._notes.refresh()
        return outcome

    @deed
    async def feedback(self, feedback: Feedback, *, ticket: Ticket) -> FeedbackReport:
        """Apply what was learned from a queued turn, inside the scope of that turn.

        While learning is paused the turn stays in the queue.
        """
        await self._life.ready()
        if not self._settings.scope_filter_enabled:
            return FeedbackReport(known=True, outcomes=(Refused(Reason.LEARNING_PAUSED),))
        return await self._applier.apply(feedback, ticket)

    @deed
    async def export(self, *, conversation_id: ConversationId, actor: Actor) -> Exported | Refused:
        """All living memories that the conversation sees, its own scope's and the public ones, in a
        new file below ``exports/``: for admins, who alone reach that folder."""
        view = await self._gate.open(conversation_id, actor)
        if not actor.admin:
            return Refused(Reason.NOT_ALLOWED)
        if isinstance(view.exports, Refused):
            return view.exports
        return await self._transfer.export(view.exports)

    async def import_(
        self, name: str, *, conversation_id: ConversationId, actor: Actor, anyway: bool = False
    ) -> Imported | Refused:
        """The memories of a file in ``imports/`` into the conversation's own scope, whatever the
        file says, through the doors that every draft goes through. Admins only. What was stored
        before it was cut off, by a close or a cancelled caller, is stored.

        Args:
            anyway: Also what was forgotten, edited or moved away since it was said.
        """
        view = await self._gate.open(conversation_id, actor)
        scope = view.records if actor.admin else Refused(Reason.NOT_ALLOWED)
        if isinstance(scope, Refused):
            return scope
        terms = Terms(scope, conversation_id.umo, anyway=anyway)
        return await self._transfer.import_named(name, terms, self._life.finish)

    async def import_for_owner(
        self,
        source: LineFile,
        scope_name: str,
        *,
        keep_trust: bool,
        new: bool,
        anyway: bool = False,
    ) -> Imported | Refused:
        """The same for the owner of the files, from an open file into a scope by its name.

        Args:
            new: The scope may be one that has no folder yet.
            keep_trust: What the file calls trusted stays so.
        """
        await self._life.ready()
        known = {*await self._editor.folders(), *([scope_name] if new else [])}
        try:
            scope = target_scope(scope_name, known)
        except InvalidScope:
            scope = None
        if scope is None:
            return Refused(Reason.UNKNOWN_SCOPE, detail=scope_name)
        await self._book.bring(scope)
        terms = Terms(scope, keep_trust=keep_trust, anyway=anyway)
        return await self._transfer.import_from(source, terms, self._life.finish)
