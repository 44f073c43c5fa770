"""What a conversation writes into its own scope: memories, tasks, what was learned, and whole
files."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial

from ..consolidation.overviews import Overviews
from ..errors import InvalidScope
from ..models.conversation import Actor, ConversationId
from ..models.data_models import (
    MemoryDraft,
    Reason,
    Refused,
    RememberOutcome,
    Replaced,
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
from ..runtime.shielded import shielded
from ..scopes.access import ConversationView
from ..scopes.paused_conversations import PausedConversations
from ..scopes.rules.scope_resolution import target_scope
from ..scopes.scope_book import ScopeBook
from ..tasks.task_list import TaskList, TaskRequester
from ..text.normalising import derived_id
from ..transfer.conversation_transfer import Terms, Transfer
from ..transfer.line_files import LineFile
from ..vault.notes.note_book import NoteBook
from .recalls import Door


@dataclass(eq=False)
class Writes(Door):
    """What is stored, of a conversation or of a file."""

    _settings: EngineSettings
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
    _clock: Clock

    def _recording(self, view: ConversationView) -> Scope | Refused:
        """Where what is said goes, unless it is off the record."""
        if self._paused_conversations.of(view.conversation_id):
            return Refused(Reason.OFF_THE_RECORD)
        return view.writable

    async def remember(
        self, draft: MemoryDraft, *, conversation_id: ConversationId
    ) -> RememberOutcome:
        """Store a draft in the conversation's own scope. What returns Stored is on disk."""
        view = await self._view(conversation_id)
        scope = self._recording(view)
        if isinstance(scope, Refused):
            return scope
        memory_id = derived_id("m", scope.name, draft.key) if draft.key else ""
        if memory_id and isinstance(
            known := await self._handlers.stands(scope, memory_id), StoredMemory
        ):
            return Stored(known)
        write = partial(
            self._contradicting.write,
            draft,
            scope,
            conversation=conversation_id.umo,
            trusted=self._access.trusts(draft.actor, view, scope),
            role=conversation_id.persona or "",
            memory_id=memory_id,
        )
        requester = Requester(draft.actor or Actor("", ""), conversation_id.umo)

        async def written() -> RememberOutcome:
            outcome = await write()
            if isinstance(outcome, Replaced):
                await self._editor.note_replaced(outcome.memory, outcome.former, requester)
            return outcome

        return await self._life.finish(written)

    async def update_tasks(
        self, change: TaskChange, *, conversation_id: ConversationId, actor: Actor
    ) -> TaskReport | Refused:
        """Add tasks to the conversation's own scope, say that some are done, or list those that it
        sees. None is ever dropped. Every speaker there may."""
        view = await self._view(conversation_id)
        where, scope, seen = view.conversation_id, view.writable, view.readable
        if self._paused_conversations.of(where):
            return Refused(Reason.OFF_THE_RECORD)
        if seen is not None and change.action is TaskAction.LIST:
            return self._tasks.report(seen)
        if isinstance(scope, Refused):
            return scope
        if seen is None:
            return Refused(Reason.REFUSED)
        trusted = self._access.trusts(actor, view, scope)
        by = TaskRequester(scope, Requester(actor, where.umo), trusted, where.persona or "")
        outcomes = await self._life.finish(lambda: self._tasks.change(change, by, seen))
        return self._tasks.report(seen, outcomes)

    async def refresh_overview(self, *, conversation_id: ConversationId) -> None:
        """Write MEMORY.md and PRIMER.md of the conversation's own scope anew, as the nightly run
        does. Raises VaultWriteFailed."""
        scope = self._recording(await self._view(conversation_id))
        if isinstance(scope, Scope):
            await self._life.finish(lambda: self._overviews.run(scope))

    async def note_role(
        self, note: RoleNote, *, conversation_id: ConversationId
    ) -> NoteOutcome | Refused:
        """Append what a session did to the day's file of the role that the caller holds, and renew
        that role's MEMORY.md; recall finds it from then on. The same words of today or yesterday
        are one block."""
        scope = self._recording(await self._view(conversation_id))
        if isinstance(scope, Refused):
            return scope
        write = partial(asyncio.to_thread, self._role_notes.append, note, self._clock())
        outcome = await self._life.finish(lambda: shielded(write()))
        if isinstance(outcome, Noted) and outcome.file:
            await self._notes.refresh()
        return outcome

    async def feedback(self, feedback: Feedback, *, ticket: Ticket) -> FeedbackReport:
        """Apply what was learned from a queued turn, inside the scope of that turn.

        While learning is paused the turn stays in the queue.
        """
        await self._life.ready()
        if not self._settings.scope_filter_enabled:
            return FeedbackReport(known=True, outcomes=(Refused(Reason.LEARNING_PAUSED),))
        return await self._life.finish(lambda: self._applier.apply(feedback, ticket))

    async def export(
        self, *, conversation_id: ConversationId, actor: Actor
    ) -> Exported | NotTransferred | Refused:
        """All living memories that the conversation sees, its own scope's and the public ones, in a
        new file below ``exports/``: for admins, who alone reach that folder."""
        view = await self._view(conversation_id)
        if not actor.admin:
            return Refused(Reason.NOT_ALLOWED)
        seen = view.exportable
        if isinstance(seen, Refused):
            return seen
        return await self._life.finish(lambda: self._transfer.export(seen))

    async def import_(
        self, name: str, *, conversation_id: ConversationId, actor: Actor, anyway: bool = False
    ) -> Imported | NotTransferred | Refused:
        """The memories of a file in ``imports/`` into the conversation's own scope, whatever the
        file says, through the doors that every draft goes through. Admins only.

        Args:
            anyway: Also what was forgotten, edited or moved away since it was said.

        What was stored before it was cut off, by a close or a cancelled caller, is stored.
        """
        view = await self._view(conversation_id)
        if not actor.admin:
            return Refused(Reason.NOT_ALLOWED)
        scope = self._recording(view)
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
    ) -> Imported | NotTransferred | Refused:
        """The same for the owner of the files, from an open file into a scope by its name.

        Args:
            new: The scope may be one that has no folder yet.
            keep_trust: What the file calls trusted stays so.
            anyway: Also what was forgotten, edited or moved away since it was said.
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
