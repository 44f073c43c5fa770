"""The engine's entry: what conversations ask of it, and here what they write."""

from __future__ import annotations

import asyncio
from typing import Final

from ..errors import InvalidScope
from ..models.conversation import Actor, ConversationId
from ..models.data_models import (
    MemoryDraft,
    Refused,
    RememberOutcome,
    Source,
    Stored,
    StoredMemory,
    Topic,
)
from ..models.deeds import Deed, DeedKind
from ..models.roles import Noted, NoteOutcome, RoleNote
from ..models.tasks import TaskChange, TaskReport
from ..models.transfer import Exported, Imported
from ..models.turns import Feedback, FeedbackReport, Ticket
from ..primer.models import Overview, Primer
from ..remember.memory_handlers import Said
from ..scopes.rules.scope_resolution import target_scope
from ..text.normalising import derived_id
from ..transfer.conversation_transfer import Terms
from ..transfer.line_files import LineFile
from .bylines import Reader
from .decisions import DecisionDesk
from .door import deed
from .turns import Turns

_RULES_TOLD: Final = 20


class CognitiveService(DecisionDesk, Turns):
    """Every method waits until the vault is read, but recall: that answers from what has been read
    so far. No call waits for the index. After ``close`` every method raises EngineClosed, and
    EngineOff where the vault could not be opened."""

    @deed
    async def remember(
        self, draft: MemoryDraft, *, conversation_id: ConversationId
    ) -> RememberOutcome:
        """Store a draft in the conversation's own scope. What returns Stored is on disk. A call
        that is repeated, by the draft's key, is one write; what was forgotten since stays so."""
        view = await self.parts.gate.open(conversation_id, draft.actor)
        scope = view.records
        if isinstance(scope, Refused):
            return scope
        memory_id = derived_id("m", scope.name, draft.key) if draft.key else ""
        if memory_id and (earlier := await self.parts.handlers.earlier(scope, memory_id)):
            return earlier
        said = Said(conversation_id.umo, conversation_id.persona or "", trusted=view.trusts(scope))
        write = self.parts.handlers.write
        outcome = await write(draft, scope, said, memory_id=memory_id, corrects=True)
        if isinstance(outcome, Stored) and outcome.former is not None:
            new, before = outcome.memory.memory.memory_id, outcome.former.memory.memory_id
            replaced = Deed(DeedKind.REPLACED, scope.name, new, before=before, undoable=True)
            await self.parts.corrected.note([replaced], view.requester)
        return outcome

    @deed
    async def update_tasks(
        self, change: TaskChange, *, conversation_id: ConversationId, actor: Actor
    ) -> TaskReport | Refused:
        """Add tasks to the conversation's own scope, say that some are done, or list those that it
        sees. None is ever dropped. Every speaker there may."""
        view = await self.parts.gate.open(conversation_id, actor)
        return await self.parts.tasks.update(change, view)

    @deed
    async def feedback(self, feedback: Feedback, *, ticket: Ticket) -> FeedbackReport:
        """Apply what was learned from a queued turn, inside the scope of that turn. While learning
        is paused the turn stays in the queue."""
        await self.parts.life.ready()
        if not self.parts.settings.scope_filter_enabled:
            return FeedbackReport(known=True, outcomes=(Refused("learning_paused"),))
        return await self.parts.applier.apply(feedback, ticket)

    async def new_rules(
        self, *, conversation_id: ConversationId, actor: Actor
    ) -> list[StoredMemory]:
        """The rules of this conversation's scope that were learned from an admin's talk, each told
        once, to an admin alone; of many, the next ones with the next call."""
        view = await self.parts.gate.open(conversation_id, actor)
        if not actor.admin:
            return []
        found = {
            one.memory.memory_id: one
            for one in self.parts.catalogue.of_topics({Topic.INSTRUCTIONS}, view.seen)
            if one.memory.provenance.trusted and one.memory.provenance.source is Source.REFLECTION
        }
        book = self.parts.book
        unreported = await book.claim(list(found), most=_RULES_TOLD)
        await book.settle(unreported, said=True)
        return [found[memory_id] for memory_id in unreported]

    async def overview(
        self, *, conversation_id: ConversationId, actor: Actor, token_budget: int
    ) -> Overview:
        """Where things stand, for a reader who asks: rules, tasks, the last days, and the
        headings of ``shared/``. Notes no turn."""
        view, primer = await self.parts.gate.open(conversation_id, actor), Primer()
        primers, new_rules = self.parts.primer, False
        if not view.silence:
            primer = await primers.at_once(view, token_budget, Reader(self.parts, view).complete)
            new_rules = await asyncio.to_thread(primers.rules_changed, "session")
        sessions = await asyncio.to_thread(self._last_sessions, view)
        return Overview(primer, self._shared_headings(view), sessions, new_rules)

    @deed
    async def refresh_overview(self, *, conversation_id: ConversationId) -> None:
        """Write MEMORY.md of the conversation's own scope anew, as the nightly run
        does. Raises VaultWriteFailed."""
        scope = (await self.parts.gate.open(conversation_id)).records
        if not isinstance(scope, Refused):
            await self.parts.memory_pages.run(scope)

    @deed
    async def note_role(self, note: RoleNote, *, conversation_id: ConversationId) -> NoteOutcome:
        """Append what a session did to the day's file of the role that the caller holds, and renew
        that role's MEMORY.md. The same words of today or yesterday are one block."""
        scope = (await self.parts.gate.open(conversation_id)).records
        if isinstance(scope, Refused):
            return scope
        outcome = await asyncio.to_thread(self.parts.role_notes.append, note, self.parts.clock())
        if isinstance(outcome, Noted) and outcome.file:
            await self.parts.note_book.refresh()
        return outcome

    @deed
    async def export(self, *, conversation_id: ConversationId, actor: Actor) -> Exported | Refused:
        """All living memories that the conversation sees, its own scope's and the public ones, in a
        new file below ``exports/``: for admins, who alone reach that folder."""
        view = await self.parts.gate.open(conversation_id, actor)
        if not actor.admin:
            return Refused("not_allowed")
        if isinstance(view.exports, Refused):
            return view.exports
        return await self.parts.transfer.export(view.exports)

    async def import_(
        self, name: str, *, conversation_id: ConversationId, actor: Actor, anyway: bool = False
    ) -> Imported | Refused:
        """Remember the memories of a file in ``imports/`` in the conversation's own scope, whatever
        the file says; ``anyway``: also what was forgotten, edited or moved away since it was said.
        Admins only. What was stored when a close, or its caller, cuts it off is stored."""
        view = await self.parts.gate.open(conversation_id, actor)
        scope = view.records if actor.admin else Refused("not_allowed")
        if isinstance(scope, Refused):
            return scope
        terms = Terms(scope, conversation_id.umo, anyway=anyway)
        return await self.parts.transfer.import_named(name, terms, self.parts.life.finish)

    async def import_for_owner(
        self,
        source: LineFile,
        scope_name: str,
        *,
        keep_trust: bool,
        new: bool,
        anyway: bool = False,
    ) -> Imported | Refused:
        """The same for the owner of the files, from an open file into a scope by its name, which is
        ``new`` where it may have no folder yet. ``keep_trust``: see ``Terms``."""
        await self.parts.life.ready()
        known = {*await self.parts.handlers.folders(), *([scope_name] if new else [])}
        try:
            scope = target_scope(scope_name, known)
        except InvalidScope:
            scope = None
        if scope is None:
            return Refused("unknown_scope", detail=scope_name)
        await self.parts.book.bring(scope)
        terms = Terms(scope, keep_trust=keep_trust, anyway=anyway)
        return await self.parts.transfer.import_from(source, terms, self.parts.life.finish)
