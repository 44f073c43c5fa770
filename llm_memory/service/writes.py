"""What a conversation writes into its own scope: memories, tasks, what was learned, and whole
files."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial

from ..consolidation.overviews import Overviews
from ..errors import InvalidScope
from ..models.conversation import Actor
from ..models.data_models import (
    MemoryDraft,
    NotAllowed,
    Rejected,
    RejectReason,
    RememberOutcome,
    Stored,
    StoredMemory,
)
from ..models.roles import Noted, NoteOutcome, RoleNote
from ..models.scope import Scope
from ..models.settings import EngineSettings
from ..models.tasks import TaskAction, TaskChange, TaskReport
from ..models.transfer import Exported, Imported, NotTransferred
from ..models.turns import Feedback, FeedbackReport, Ticket
from ..reflection.feedback_applier import FeedbackApplier
from ..remember.contradictions import ContradictingWrites
from ..remember.edit import MemoryEditor, Requester
from ..remember.memory_handlers import MemoryHandlers
from ..roles.role_notes import RoleNotes
from ..runtime.identifiers import Clock
from ..runtime.lifecycle import Lifespan
from ..runtime.shielded import shielded
from ..scopes.access import Access, ConversationView
from ..scopes.paused_conversations import PausedConversations
from ..scopes.rules.move_target import target_scope
from ..scopes.scope_book import ScopeBook
from ..tasks.task_list import TaskList, TaskRequester
from ..text.normalising import derived_id
from ..transfer.conversation_transfer import Terms, Transfer
from ..transfer.line_files import LineFile
from ..vault.notes.note_book import NoteBook


@dataclass(eq=False)
class Writes:
    """Does what ``CognitiveService`` is asked inside a view that it has resolved."""

    _settings: EngineSettings
    _access: Access
    _book: ScopeBook
    _handlers: MemoryHandlers
    _contradicting: ContradictingWrites
    _applier: FeedbackApplier
    _editor: MemoryEditor
    _tasks: TaskList
    _transfer: Transfer
    _overviews: Overviews
    _role_notes: RoleNotes
    _notes: NoteBook
    _paused_conversations: PausedConversations
    _life: Lifespan
    _clock: Clock

    def _recording(self, view: ConversationView) -> Scope | Rejected:
        """Where what is said goes, unless it is off the record."""
        if self._paused_conversations.of(view.conversation_id):
            return Rejected(RejectReason.OFF_THE_RECORD)
        return view.writable

    async def remember(self, draft: MemoryDraft, view: ConversationView) -> RememberOutcome:
        """Store a draft in the conversation's own scope. What returns Stored is on disk."""
        scope = self._recording(view)
        if isinstance(scope, Rejected):
            return scope
        memory_id = derived_id("m", scope.name, draft.key) if draft.key else ""
        if memory_id and isinstance(
            known := await self._handlers.stands(scope, memory_id), StoredMemory
        ):
            return Stored(known)
        return await self._life.finish(
            lambda: self._contradicting.write(
                draft,
                scope,
                conversation=view.conversation_id.umo,
                trusted=self._access.trusts(draft.actor, view, scope),
                role=view.conversation_id.persona or "",
                memory_id=memory_id,
            )
        )

    async def update_tasks(
        self, change: TaskChange, view: ConversationView, actor: Actor
    ) -> TaskReport | Rejected:
        """Add tasks, say that some are done, or list those that the conversation sees."""
        where, scope, seen = view.conversation_id, view.writable, view.readable
        if self._paused_conversations.of(where):
            return Rejected(RejectReason.OFF_THE_RECORD)
        if seen is not None and change.action is TaskAction.LIST:
            return self._tasks.report(seen)
        if isinstance(scope, Rejected):
            return scope
        if seen is None:
            return Rejected(RejectReason.REFUSED)
        trusted = self._access.trusts(actor, view, scope)
        by = TaskRequester(scope, Requester(actor, where.umo), trusted, where.persona or "")
        outcomes = await self._life.finish(lambda: self._tasks.change(change, by, seen))
        return self._tasks.report(seen, outcomes)

    async def refresh_overview(self, view: ConversationView) -> None:
        """Write the pages of the conversation's own scope, if it has one."""
        scope = self._recording(view)
        if isinstance(scope, Scope):
            await self._life.finish(lambda: self._overviews.run(scope))

    async def note_role(self, note: RoleNote, view: ConversationView) -> NoteOutcome | Rejected:
        """Write what a session of a role leaves behind; recall finds it from then on."""
        scope = self._recording(view)
        if isinstance(scope, Rejected):
            return scope
        write = partial(asyncio.to_thread, self._role_notes.append, note, self._clock())
        outcome = await self._life.finish(lambda: shielded(write()))
        if isinstance(outcome, Noted) and outcome.file:
            await self._notes.refresh()
        return outcome

    async def feedback(self, feedback: Feedback, ticket: Ticket) -> FeedbackReport:
        """Apply what was learned from a queued turn, inside the scope of that turn."""
        if not self._settings.scope_filter_enabled:
            return FeedbackReport(known=True, outcomes=(Rejected(RejectReason.LEARNING_PAUSED),))
        return await self._life.finish(lambda: self._applier.apply(feedback, ticket))

    async def export(
        self, view: ConversationView, actor: Actor
    ) -> Exported | NotTransferred | NotAllowed | Rejected:
        """All memories that the conversation sees, in a new file. Admins only."""
        if not actor.admin:
            return NotAllowed("")
        seen = view.exportable
        if isinstance(seen, Rejected):
            return seen
        return await self._life.finish(lambda: self._transfer.export(seen))

    async def import_(
        self, name: str, view: ConversationView, actor: Actor, *, anyway: bool
    ) -> Imported | NotTransferred | NotAllowed | Rejected:
        """The memories of a file into the conversation's own scope. Admins only."""
        if not actor.admin:
            return NotAllowed("")
        scope = self._recording(view)
        if isinstance(scope, Rejected):
            return scope
        terms = Terms(scope, view.conversation_id.umo, anyway=anyway)
        return await self._transfer.import_named(name, terms, self._life.finish)

    async def import_for_owner(
        self, source: LineFile, scope_name: str, *, keep_trust: bool, new: bool, anyway: bool
    ) -> Imported | NotTransferred | Rejected:
        """The arguments are those of ``CognitiveService.import_for_owner``."""
        known = {*await self._editor.folders(), *([scope_name] if new else [])}
        try:
            scope = target_scope(scope_name, known)
        except InvalidScope:
            scope = None
        if scope is None:
            return Rejected(RejectReason.UNKNOWN_SCOPE, detail=scope_name)
        await self._book.bring(scope)
        terms = Terms(scope, keep_trust=keep_trust, anyway=anyway)
        return await self._transfer.import_from(source, terms, self._life.finish)
