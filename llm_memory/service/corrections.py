"""What people do to entries that stand: forget, edit, move, and take it back."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from ..catalogue.rules.pointers import pointed_id
from ..catalogue.rules.proposals import proposal_key
from ..catalogue.unread_turns import UnreadTurns
from ..decisions.stale_saves import StaleSaves
from ..errors import StateUnavailable
from ..models.conversation import Actor
from ..models.corrections import CorrectionKind
from ..models.data_models import (
    EditOutcome,
    ForgetOutcome,
    Forgotten,
    Moved,
    MoveOutcome,
    NotAllowed,
    NotVisible,
    Purged,
    Rejected,
    RejectReason,
    Restored,
    RestoreOutcome,
    StoredMemory,
)
from ..models.scope import Scope
from ..models.vault_layout import ARCHIVE
from ..remember.corrected_statements import CorrectedStatements
from ..remember.correction_follower import CorrectionFollower
from ..remember.edit import MemoryEditor, Requester
from ..remember.memory_handlers import MemoryHandlers
from ..remember.rules.confidences import may_stand
from ..runtime.lifecycle import Lifespan
from ..scopes.access import Access, ConversationView
from ..scopes.rules.move_target import target_scope
from ..scopes.scope_book import ScopeBook
from ..vault.models import UndoKind


class Corrections:
    """The cognitive service's own: who asks, and from where, is told by the conversation."""

    def __init__(
        self,
        access: Access,
        book: ScopeBook,
        handlers: MemoryHandlers,
        editor: MemoryEditor,
        corrected: CorrectedStatements,
        unread: UnreadTurns,
        follower: CorrectionFollower,
        stale_saves: StaleSaves,
        life: Lifespan,
    ) -> None:
        self._access = access
        self._book = book
        self._handlers = handlers
        self._editor = editor
        self._corrected = corrected
        self._unread = unread
        self._follower = follower
        self._stale_saves = stale_saves
        self._life = life

    async def forget(
        self, memory_id: str, view: ConversationView, actor: Actor
    ) -> ForgetOutcome | Rejected:
        """Move an entry to the archive. Only its speaker or an admin, only in its own scope."""
        stored = self._access.find(memory_id, view)
        if stored is None:
            return await self._forget_unread(memory_id, view, actor)
        scope = view.writable
        if isinstance(scope, Rejected) or not self._access.in_reach(stored, scope, actor):
            return self._access.refusal(stored, scope)
        requester = Requester(actor, view.conversation_id.umo)
        target = await self._life.finish(lambda: self._forget(stored, requester))
        match target:
            case Rejected():
                return target
            case None:
                return NotVisible(memory_id)
            case str():
                return Forgotten(stored, target)

    async def _forget_unread(
        self, memory_id: str, view: ConversationView, actor: Actor
    ) -> ForgetOutcome:
        """What was said and is not read yet has no entry: noted as forgotten it is neither recalled
        nor learned, and at night its words leave the queue."""
        named, scope_filter = pointed_id(memory_id), view.readable
        if named is None or scope_filter is None:
            return NotVisible(memory_id)
        stored = self._unread.find(named, scope_filter)
        if stored is None:
            return await self._absent(memory_id, view)
        scope = view.writable
        if isinstance(scope, Rejected) or not self._access.in_reach(stored, scope, actor):
            return self._access.refusal(stored, scope)
        by = actor.name or actor.person
        await self._carry_out(
            lambda: self._corrected.note(CorrectionKind.FORGOTTEN, scope.name, stored.memory, by=by)
        )
        return Purged(stored.memory.memory_id)

    async def _absent(self, memory_id: str, view: ConversationView) -> NotVisible:
        """No such memory lives here: it may have been forgotten."""
        scope, named = view.writable, pointed_id(memory_id)
        if isinstance(scope, Rejected) or named is None:
            return NotVisible(memory_id)
        archived = await self._handlers.archived(scope, named)
        seen = archived is not None and view.sees(archived)
        return NotVisible(memory_id, forgotten=seen)

    async def _forget(self, stored: StoredMemory, requester: Requester) -> str | Rejected | None:
        """The correction is noted first: a kill between must not lose it."""
        scope, by = stored.scope, requester.actor.name or requester.actor.person
        number = await self._corrected.note(
            CorrectionKind.FORGOTTEN, scope.name, stored.memory, by=by
        )
        target = await self._handlers.archive(stored, requester.actor)
        if isinstance(target, str):
            await self._editor.note(UndoKind.FORGET, stored, scope, requester)
            await self._follower.follow()
        else:
            await self._corrected.drop([number])
        return target

    async def purge(
        self, memory_id: str, view: ConversationView, actor: Actor
    ) -> ForgetOutcome | Rejected:
        """Forget an entry for good, whether it lives or was forgotten before. Who may forget it
        may do this."""
        scope = view.writable
        named = pointed_id(memory_id)
        stored = self._access.find(memory_id, view)
        if stored is None and not isinstance(scope, Rejected) and named is not None:
            stored = await self._handlers.archived(scope, named)
        if stored is None or not view.sees(stored):
            return await self._forget_unread(memory_id, view, actor)
        if isinstance(scope, Rejected) or not self._access.in_reach(stored, scope, actor):
            return self._access.refusal(stored, scope)
        requester = Requester(actor, view.conversation_id.umo)
        return await self._life.finish(lambda: self._purge(stored, requester))

    async def _purge(self, stored: StoredMemory, requester: Requester) -> Purged | Rejected:
        if stored.path != ARCHIVE:
            forgotten = await self._forget(stored, requester)
            if isinstance(forgotten, Rejected):
                return forgotten
        memory_id = stored.memory.memory_id
        left = await self._handlers.purge(stored.scope, memory_id)
        try:
            await self._stale_saves.forget(proposal_key(memory_id))
        except StateUnavailable as error:
            left = left or str(error)
        return Purged(memory_id, left)

    async def edit(
        self, memory_id: str, text: str, view: ConversationView, actor: Actor
    ) -> EditOutcome | Rejected:
        """Give an entry of the conversation's own scope other words. Admins only."""
        stored = self._access.for_admin(memory_id, view, actor)
        if isinstance(stored, NotVisible):
            return await self._absent(memory_id, view)
        if isinstance(stored, NotAllowed):
            return stored
        requester = Requester(actor, view.conversation_id.umo)
        own = self._book.same_person(actor.person, stored.memory.provenance.person)
        edited = await self._carry_out(lambda: self._editor.edit(stored, text, requester, own=own))
        return NotVisible(memory_id) if edited is None else edited

    async def move(
        self, memory_id: str, scope_name: str, view: ConversationView, actor: Actor
    ) -> MoveOutcome | Rejected:
        """Move an entry of the conversation's own scope to another one. Admins only."""
        stored = self._access.for_admin(memory_id, view, actor)
        if isinstance(stored, NotVisible):
            return await self._absent(memory_id, view)
        if isinstance(stored, NotAllowed):
            return stored
        known = {*self._book.summary().by_scope, *await self._editor.folders()}
        target = target_scope(scope_name, known)
        if target is None:
            return Rejected(RejectReason.UNKNOWN_SCOPE, detail=scope_name)
        if target == stored.scope:
            return Moved(stored, target.name)
        if not may_stand(stored.memory, target):
            return Rejected(RejectReason.CONFIDENCE)
        requester = Requester(actor, view.conversation_id.umo)
        moved = await self._carry_out(lambda: self._editor.move(stored, target, requester))
        return NotVisible(memory_id) if moved is None else moved

    async def _carry_out[T](self, step: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Finish a step and what follows from it, even if the caller is cancelled. Raises
        EngineClosed before the step begins."""

        async def followed() -> T:
            done = await step()
            await self._follower.follow()
            return done

        return await self._life.finish(followed)

    async def restore(
        self, memory_id: str, view: ConversationView, actor: Actor
    ) -> RestoreOutcome | Rejected:
        """Take back what was done last to an entry of the conversation's own scope: forgotten, it
        comes back; edited, it has its former words; moved, it is here again.

        With an empty id: the last that this person did in this conversation.
        """
        scope = view.writable
        named = pointed_id(memory_id) if memory_id else ""
        if isinstance(scope, Rejected) or named is None:
            return NotVisible(memory_id)
        undo_record = await self._editor.undo_record(
            Requester(actor, view.conversation_id.umo), named, scope
        )
        if undo_record is not None and undo_record.kind is UndoKind.MOVE and not actor.admin:
            return NotVisible(memory_id)  # whether it still lives there is not for everybody
        standing = None if undo_record is None else self._editor.standing(undo_record)
        if (
            undo_record is not None
            and undo_record.kind is not UndoKind.FORGET
            and standing is not None
        ):
            if undo_record.kind is UndoKind.EDIT and not view.sees(standing):
                return NotVisible(memory_id)
            if not actor.admin:
                return self._access.refusal(standing, scope)
            undone = await self._carry_out(partial(self._editor.take_back, undo_record))
            return NotVisible(memory_id) if undone is None else undone
        if not named and undo_record is None:
            return NotVisible(memory_id)
        wanted = named or (undo_record.memory_id if undo_record else "")
        outcome = await self._bring_back(wanted, scope, view, actor)
        if isinstance(outcome, Restored) and undo_record is not None:
            await self._editor.drop_undo_record(undo_record)
        return outcome

    async def _bring_back(
        self, memory_id: str, scope: Scope, view: ConversationView, actor: Actor
    ) -> Restored | NotAllowed | NotVisible | Rejected:
        archived = await self._handlers.archived(scope, memory_id)
        if archived is None or not view.sees(archived):
            return NotVisible(memory_id)
        if not self._access.in_reach(archived, scope, actor):
            return self._access.refusal(archived, scope)
        restored = await self._carry_out(lambda: self._restored(memory_id, scope))
        match restored:
            case Rejected():
                return restored
            case None:
                return NotVisible(memory_id)
            case StoredMemory():
                return Restored(restored)

    async def _restored(self, memory_id: str, scope: Scope) -> StoredMemory | Rejected | None:
        restored = await self._handlers.restore(scope, memory_id)
        if isinstance(restored, StoredMemory):
            for kind in (CorrectionKind.FORGOTTEN, CorrectionKind.TAKEN_BACK):
                await self._corrected.withdraw(kind, scope.name, memory_id)
        return restored
