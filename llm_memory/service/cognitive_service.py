"""The engine's entry: the only place where a conversation gets its scope."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ..errors import EngineOff, InvalidScope
from ..models.conversation import Actor, ConversationId
from ..models.data_models import (
    EditOutcome,
    ForgetOutcome,
    Forgotten,
    MemoryDraft,
    Moved,
    MoveOutcome,
    NotAllowed,
    NotVisible,
    Rejected,
    RejectReason,
    RememberOutcome,
    Restored,
    RestoreOutcome,
    StoredMemory,
)
from ..models.recall import (
    Arm,
    Expanded,
    ExpandedNote,
    Expansion,
    Explained,
    Hit,
    PointerNotVisible,
    Recall,
    Told,
    Trace,
)
from ..models.scope import Scope, ScopeFilter
from ..models.settings import EngineSettings
from ..models.status import MapSummary, ScopeReport
from ..models.transfer import Exported, Imported, NotTransferred
from ..models.turns import Feedback, FeedbackReport, ObserveOutcome, Ticket, Turn
from ..policies.admin_move import target_scope
from ..policies.pointers import is_note_id, pointed_id
from ..ports.ledger import DeedKind
from ..ports.transfer import LineSource
from .access import Access
from .catalogue import Catalogue
from .lifespan import Lifespan
from .memory_editor import Doer, MemoryEditor
from .memory_handlers import MemoryHandlers
from .memory_manager import MemoryManager
from .note_book import NoteBook
from .pending_records import PendingRecords
from .reconciler import Reconciler
from .scope_book import Meeting, ScopeBook
from .transfer import Terms, Transfer
from .turn_queue import TurnQueue

_HOPS_SECONDS = 3.0
"""A model waits for the answer: after this long the first of two hops is the answer."""


class CognitiveService:
    """Takes a ConversationId, derives the scope, and does what is asked inside it.

    Every method waits until the vault is read, but recall: that answers from what has been read so
    far. Nobody waits for the index. After ``close`` every method raises EngineClosed, and EngineOff
    where the vault could not be opened.
    """

    def __init__(
        self,
        settings: EngineSettings,
        book: ScopeBook,
        catalogue: Catalogue,
        manager: MemoryManager,
        handlers: MemoryHandlers,
        turns: TurnQueue,
        notes: NoteBook,
        editor: MemoryEditor,
        reconciler: Reconciler,
        transfer: Transfer,
        pending: PendingRecords,
    ) -> None:
        self._settings = settings
        self._book = book
        self._catalogue = catalogue
        self._access = Access(settings, book, catalogue)
        self._life = Lifespan()
        self._manager = manager
        self._handlers = handlers
        self._turns = turns
        self._notes = notes
        self._editor = editor
        self._reconciler = reconciler
        self._transfer = transfer
        self._pending = pending

    async def remember(
        self, draft: MemoryDraft, *, conversation_id: ConversationId
    ) -> RememberOutcome:
        """Store a draft in the conversation's own scope. What returns Stored is on disk."""
        await self._life.ready()
        scope = self._access.writable(conversation_id)
        if isinstance(scope, Rejected):
            return scope
        return await self._life.finish(
            self._handlers.write(
                draft,
                scope,
                conversation=conversation_id.umo,
                trusted=self._access.trusts(draft.actor, conversation_id, scope),
                role=conversation_id.persona or "",
            )
        )

    async def recall(
        self,
        query: str,
        *,
        conversation_id: ConversationId,
        limit: int,
        token_budget: int,
        actor: Actor | None = None,
        line: Callable[[Hit], str] | None = None,
        only: Collection[Arm] | None = None,
        chained: bool = False,
    ) -> Recall:
        """At most ``limit`` relevant memories that fit the budget; none where none is relevant.

        Args:
            actor: Who asks: 我 is that person.
            line: What is injected of a hit; the budget counts its tokens.
            only: Ask these arms alone, for comparisons.
            chained: Ask again with what the memories of whom the question names say.
        """
        await self._life.begun()
        scope_filter = self._access.readable(conversation_id)
        if scope_filter is None:
            return Recall(trace=Trace(notes=("refused",)))
        if chained:
            recall = await self._manager.chained_recall(
                query,
                scope_filter,
                limit=limit,
                token_budget=token_budget,
                asker=actor,
                line=line,
                seconds=_HOPS_SECONDS,
            )
        else:
            recall = await self._manager.comprehensive_recall(
                query,
                scope_filter,
                limit=limit,
                token_budget=token_budget,
                asker=actor,
                line=line,
                only=only,
            )
        self._manager.note(conversation_id.umo, query, recall.trace)
        return recall

    async def explain(self, *, conversation_id: ConversationId) -> list[Explained]:
        """The last recalls of this conversation, the newest first, as far as it may see them."""
        await self._life.ready()
        scope_filter = self._access.readable(conversation_id)
        if scope_filter is None:
            return []
        return self._manager.explain(conversation_id.umo, scope_filter)

    def last_recalls(self) -> list[Told]:
        """Of every conversation, the newest first: for whoever owns the files."""
        return self._manager.told.all()

    async def expand(self, pointer: str, *, conversation_id: ConversationId) -> Expansion:
        """The whole entry, or section of a note, behind a pointer that the conversation may see."""
        await self._life.ready()
        named = pointed_id(pointer)
        if named is not None and is_note_id(named):
            return await self._expand_note(pointer, named, self._access.readable(conversation_id))
        stored = self._access.find(pointer, conversation_id)
        scope_filter = self._access.readable(conversation_id)
        if stored is None and named is not None and scope_filter is not None:
            stored = self._pending.find(named, scope_filter)  # recalled, so it can be read
        return PointerNotVisible(pointer) if stored is None else Expanded(stored)

    async def forget(
        self, memory_id: str, *, conversation_id: ConversationId, actor: Actor
    ) -> ForgetOutcome | Rejected:
        """Move an entry to the archive. Only its speaker or an admin, only in its own scope."""
        await self._life.ready()
        stored = self._access.find(memory_id, conversation_id)
        if stored is None:
            return NotVisible(memory_id)
        scope = self._access.writable(conversation_id)
        if isinstance(scope, Rejected) or not self._access.in_reach(stored, scope, actor):
            return NotAllowed(memory_id)
        target = await self._life.finish(self._handlers.archive(stored, actor))
        match target:
            case Rejected():
                return target
            case None:
                return NotVisible(memory_id)
            case str():
                doer = Doer(actor, conversation_id.umo)
                await self._editor.note(DeedKind.FORGET, stored, scope, doer)
                return Forgotten(stored, target)

    async def edit(
        self, memory_id: str, text: str, *, conversation_id: ConversationId, actor: Actor
    ) -> EditOutcome | Rejected:
        """Give an entry of the conversation's own scope other words. Admins only."""
        await self._life.ready()
        stored = self._access.for_admin(memory_id, conversation_id, actor)
        if not isinstance(stored, StoredMemory):
            return stored
        doer = Doer(actor, conversation_id.umo)
        edited = await self._life.finish(self._editor.edit(stored, text, doer))
        return NotVisible(memory_id) if edited is None else edited

    async def move(
        self, memory_id: str, scope_name: str, *, conversation_id: ConversationId, actor: Actor
    ) -> MoveOutcome | Rejected:
        """Move an entry of the conversation's own scope to another one. Admins only."""
        await self._life.ready()
        stored = self._access.for_admin(memory_id, conversation_id, actor)
        if not isinstance(stored, StoredMemory):
            return stored
        known = {*self._book.summary().by_scope, *await self._editor.folders()}
        target = target_scope(scope_name, known)
        if target is None:
            return Rejected(RejectReason.UNKNOWN_SCOPE, detail=scope_name)
        if target == stored.scope:
            return Moved(stored, target.name)
        doer = Doer(actor, conversation_id.umo)
        moved = await self._life.finish(self._editor.move(stored, target, doer))
        return NotVisible(memory_id) if moved is None else moved

    async def restore(
        self, memory_id: str = "", *, conversation_id: ConversationId, actor: Actor
    ) -> RestoreOutcome | Rejected:
        """Take back what was done last to an entry of the conversation's own scope: forgotten, it
        comes back; edited, it has its former words; moved, it is here again.

        Without an id: the last that this person did in this conversation.
        """
        await self._life.ready()
        scope = self._access.writable(conversation_id)
        named = pointed_id(memory_id) if memory_id else ""
        if isinstance(scope, Rejected) or named is None:
            return NotVisible(memory_id)
        deed = await self._editor.deed(Doer(actor, conversation_id.umo), named, scope)
        if deed is not None and deed.kind is DeedKind.MOVE and not actor.admin:
            return NotVisible(memory_id)  # whether it still lives there is not for everybody
        if deed is not None and deed.kind is not DeedKind.FORGET and self._editor.stands(deed):
            if not actor.admin:
                return NotAllowed(memory_id)
            undone = await self._life.finish(self._editor.take_back(deed))
            return NotVisible(memory_id) if undone is None else undone
        if not named and deed is None:
            return NotVisible(memory_id)
        outcome = await self._bring_back(named or (deed.memory_id if deed else ""), scope, actor)
        if isinstance(outcome, Restored) and deed is not None:
            await self._editor.settle(deed)
        return outcome

    async def _bring_back(
        self, memory_id: str, scope: Scope, actor: Actor
    ) -> Restored | NotAllowed | NotVisible | Rejected:
        archived = await self._handlers.archived(scope, memory_id)
        if archived is None:
            return NotVisible(memory_id)
        if not self._access.in_reach(archived, scope, actor):
            return NotAllowed(memory_id)
        restored = await self._life.finish(self._handlers.restore(scope, memory_id))
        match restored:
            case Rejected():
                return restored
            case None:
                return NotVisible(memory_id)
            case StoredMemory():
                return Restored(restored)

    async def observe(self, turn: Turn, *, conversation_id: ConversationId) -> ObserveOutcome:
        """Queue a finished turn durably. Its scope is fixed now, whatever the map says later."""
        await self._life.ready()
        scope = self._access.writable(conversation_id)
        return await self._turns.put(turn, scope, conversation_id.umo)

    async def feedback(self, feedback: Feedback, *, ticket: Ticket) -> FeedbackReport:
        """Apply what was learned from a queued turn, inside the scope of that turn.

        While learning is paused the turn stays in the queue.
        """
        await self._life.ready()
        if not self._settings.scope_filter_enabled:
            paused = Rejected(RejectReason.LEARNING_PAUSED)
            return FeedbackReport(known=True, outcomes=(paused,) * len(feedback.drafts))
        return await self._life.finish(self._turns.settle(feedback, ticket))

    async def meet(self, conversation_id: ConversationId, actor: Actor) -> Meeting:
        """Note that a message came; says whether it is the conversation's first."""
        await self._life.ready()
        return await self._book.meet(conversation_id, actor)

    async def newest(self, *, conversation_id: ConversationId, limit: int) -> list[StoredMemory]:
        """The newest memories that the conversation may see."""
        await self._life.ready()
        scope_filter = self._access.readable(conversation_id)
        if scope_filter is None:
            return []
        visible = self._catalogue.visible(scope_filter)
        return sorted(visible, key=lambda s: s.memory.created_at, reverse=True)[:limit]

    async def describe(self, *, conversation_id: ConversationId) -> ScopeReport:
        """What the conversation reads and writes, and why."""
        await self._life.ready()
        scope_filter = self._access.readable(conversation_id)
        visible = sum(1 for _ in self._catalogue.visible(scope_filter)) if scope_filter else 0
        return ScopeReport(
            resolution=self._book.resolve(conversation_id),
            visible=visible,
            damaged=self._book.damaged,
            strangers_in_public=self._book.strangers_in_public,
        )

    async def map_summary(self) -> MapSummary:
        """What the scope map says, for the log at start-up."""
        await self._life.ready()
        return self._book.summary()

    async def confirm_map(self, *, actor: Actor) -> int | None:
        """Let go of the keys that a damaged map lost. None for anybody but an admin."""
        await self._life.ready()
        return await self._life.finish(self._book.confirm_map()) if actor.admin else None

    async def confirm_deletions(self, *, actor: Actor) -> int | None:
        """Forget what is held because most of its scope is gone from the files. None for anybody
        but an admin.

        Raises VaultWriteFailed.
        """
        await self._life.ready()
        return await self._life.finish(self._reconciler.confirm()) if actor.admin else None

    async def export(
        self, *, conversation_id: ConversationId, actor: Actor
    ) -> Exported | NotTransferred | Rejected:
        """All living memories that the conversation sees, its own scope's and the public ones, in a
        new file below ``exports/``. Its name is told to nobody but the asker."""
        await self._life.ready()
        scope_filter = self._access.exportable(conversation_id)
        if isinstance(scope_filter, Rejected):
            return scope_filter
        return await self._life.finish(self._transfer.export(scope_filter, patient=not actor.admin))

    async def import_(
        self, name: str, *, conversation_id: ConversationId, actor: Actor
    ) -> Imported | NotTransferred | NotAllowed | Rejected:
        """The memories of a file in ``imports/`` into the conversation's own scope, whatever the
        file says, through the doors that every draft goes through. Admins only.

        What was stored before it was cut off, by a close or a cancelled caller, is stored.
        """
        await self._life.ready()
        if not actor.admin:
            return NotAllowed("")
        scope = self._access.writable(conversation_id)
        if isinstance(scope, Rejected):
            return scope
        terms = Terms(scope, conversation_id.umo)
        return await self._transfer.import_named(name, terms, self._life.finish)

    async def import_for_owner(
        self, source: LineSource, scope_name: str, *, keep_trust: bool, new: bool
    ) -> Imported | NotTransferred | Rejected:
        """The same for whoever owns the files, from an open file into a scope that he names.

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
            return Rejected(RejectReason.UNKNOWN_SCOPE, detail=scope_name)
        terms = Terms(scope, keep_trust=keep_trust)
        return await self._transfer.import_from(source, terms, self._life.finish)

    # What follows is between the service and the engine that holds it.

    def opened(self) -> None:
        """Scopes can be told, and the vault is being read: recall may go on."""
        self._life.opened()

    def loaded(self) -> None:
        """The vault is read: whoever waits may go on."""
        self._life.loaded()

    def failed(self, reason: EngineOff) -> None:
        """The vault cannot be opened: whoever waits gets this."""
        self._life.failed(reason)

    async def close(self) -> None:
        """Answer EngineClosed from now on; wait for the writes that began."""
        await self._life.close()

    async def _expand_note(
        self, pointer: str, note_id: str, scope_filter: ScopeFilter | None
    ) -> Expansion:
        chunk = self._notes.find(note_id, scope_filter) if scope_filter else None
        if chunk is None:
            return PointerNotVisible(pointer)
        return ExpandedNote(await self._notes.section(chunk))
