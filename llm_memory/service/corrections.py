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
from ..migration.bringing import Bringing
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
from ..models.scope import PUBLIC, Scope
from ..models.vault_layout import ARCHIVE
from ..remember.corrected_statements import CorrectedStatements
from ..remember.correction_follower import CorrectionFollower
from ..remember.edit import MemoryEditor, Requester, left_words
from ..remember.memory_handlers import MemoryHandlers
from ..remember.rules.confidences import may_stand
from ..runtime.lifecycle import Lifespan
from ..scopes.access import Access, ConversationView
from ..scopes.rules.move_target import target_scope
from ..scopes.scope_book import ScopeBook
from ..vault.models import UndoKind, UndoRecord


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
        bringing: Bringing,
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
        self._bringing = bringing
        self._life = life

    async def forget(
        self, memory_id: str, view: ConversationView, actor: Actor
    ) -> ForgetOutcome | Rejected:
        """Move an entry to the archive, for who may forget it here."""
        stored = self._access.find(memory_id, view)
        if stored is None:
            return await self._forget_unread(memory_id, view, actor)
        if not self._access.may_forget(stored, view, actor):
            return self._access.refusal(stored, view)
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
        if not self._access.may_forget(stored, view, actor):
            return self._access.refusal(stored, view)
        name, by = stored.scope.name, actor.name or actor.person
        await self._carry_out(
            lambda: self._corrected.note(CorrectionKind.FORGOTTEN, name, stored.memory, by=by)
        )
        return Purged(stored.memory.memory_id)

    async def _absent(self, memory_id: str, view: ConversationView) -> NotVisible:
        """No such memory lives here: it may have been forgotten."""
        seen = await self._archived(memory_id, view)
        return NotVisible(memory_id, forgotten=seen is not None)

    async def _archived(self, memory_id: str, view: ConversationView) -> StoredMemory | None:
        """A forgotten entry that the conversation sees."""
        named = pointed_id(memory_id)
        for scope in view.changeable if named is not None else ():
            archived = await self._handlers.archived(scope, named or "")
            if archived is not None and view.sees(archived):
                return archived
        return None

    async def _forget(self, stored: StoredMemory, requester: Requester) -> str | Rejected | None:
        """The correction is noted first: a kill between must not lose it."""
        scope, by = stored.scope, requester.actor.name or requester.actor.person
        number = await self._corrected.note(
            CorrectionKind.FORGOTTEN, scope.name, stored.memory, by=by
        )
        target = await self._handlers.archive(stored, requester.actor)
        if isinstance(target, str):
            archived = await self._handlers.archived(scope, stored.memory.memory_id)
            words = "" if archived is None else left_words(archived)
            await self._editor.note(UndoKind.FORGET, stored, scope, requester, words)
            await self._follower.follow()
        else:
            await self._corrected.drop([number])
        return target

    async def purge(
        self, memory_id: str, view: ConversationView, actor: Actor
    ) -> ForgetOutcome | Rejected:
        """Forget an entry for good, whether it lives or was forgotten before. Who may forget it
        may do this."""
        stored = self._access.find(memory_id, view) or await self._archived(memory_id, view)
        if stored is None:
            return await self._forget_unread(memory_id, view, actor)
        if not self._access.may_forget(stored, view, actor):
            return self._access.refusal(stored, view)
        requester = Requester(actor, view.conversation_id.umo)
        return await self._life.finish(lambda: self._purge(stored, requester))

    async def _purge(self, stored: StoredMemory, requester: Requester) -> Purged | Rejected:
        if stored.path != ARCHIVE:
            forgotten = await self._forget(stored, requester)
            if isinstance(forgotten, Rejected):
                return forgotten
        memory_id = stored.memory.memory_id
        left = await self._handlers.purge(stored.scope, memory_id)
        await self._editor.drop_undo_records(memory_id, stored.scope.name)
        try:
            await self._stale_saves.forget(proposal_key(memory_id))
        except StateUnavailable as error:
            left = left or str(error)
        return Purged(memory_id, left)

    async def edit(
        self, memory_id: str, text: str, view: ConversationView, actor: Actor
    ) -> EditOutcome | Rejected:
        """Give an entry other words, for an admin who may change it here."""
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
        """Move an entry to another scope, for an admin who may change it here."""
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
        """Take back what was done last to an entry that is or was seen here: forgotten, it comes
        back; edited, it has its former words; moved, it is here again."""
        named = pointed_id(memory_id)
        if named is None:
            return NotVisible(memory_id)
        done = await self._editor.undo_record(named, view.changeable)
        if done is not None and done.kind is not UndoKind.FORGET:
            if done.kind is UndoKind.MOVE and not actor.admin:
                return NotVisible(memory_id)  # whether it still lives there is not for everybody
            if self._editor.standing(done) is not None:
                return await self.undo(done, view, actor)
            done = None
        archived = await self._archived(memory_id, view)
        if archived is None:
            return NotVisible(memory_id)
        outcome = await self._bring_back(archived, view, actor)
        if isinstance(outcome, Restored) and done is not None:
            await self._editor.drop_undo_record(done)
        return outcome

    async def undo_last(self, view: ConversationView, actor: Actor) -> RestoreOutcome | Rejected:
        """Take back the last that this person did in this conversation and that can still be
        undone. NotVisible names the last of all, if something else was done to it since."""
        changed = ""
        for done in await self._editor.undo_records(Requester(actor, view.conversation_id.umo)):
            outcome = await self.undo(done, view, actor)
            if not isinstance(outcome, NotVisible | NotAllowed):
                return outcome
            if isinstance(outcome, NotVisible):
                changed = changed or outcome.memory_id
        return NotVisible(changed)

    async def undo(
        self, done: UndoRecord, view: ConversationView, actor: Actor
    ) -> RestoreOutcome | Rejected:
        """Take back this very deed, and no other one: what was done to the entry since stays.
        NotVisible without a name where it is not the conversation's to know why."""
        if done.kind is UndoKind.BRING:
            to = next((one for one in view.changeable if one.name == done.target), PUBLIC)
            may = self._access.trusts(actor, view, to)
            return await self._bringing.take_back(done) if may else NotAllowed("")
        standing = self._editor.standing(done)
        scope = next((one for one in view.changeable if one.name == done.source), None)
        if scope is None:
            return NotVisible("")
        if done.kind is UndoKind.FORGET:
            archived = await self._handlers.archived(scope, done.memory_id)
            if standing is not None or archived is None or not _is_left(archived, done):
                return NotVisible(done.memory_id)
            outcome = await self._bring_back(archived, view, actor)
            if isinstance(outcome, Restored):
                await self._editor.drop_undo_record(done)
            return outcome
        if standing is None:
            return NotVisible(done.memory_id if actor.admin else "")
        if done.kind is UndoKind.EDIT and not view.sees(standing):
            return NotVisible(done.memory_id)
        if not self._access.governs(scope, view, actor):
            return self._access.refusal(standing, view)
        undone = await self._carry_out(partial(self._editor.take_back, done))
        return NotVisible(done.memory_id) if undone is None else undone

    async def _bring_back(
        self, archived: StoredMemory, view: ConversationView, actor: Actor
    ) -> Restored | NotAllowed | NotVisible | Rejected:
        scope, memory_id = archived.scope, archived.memory.memory_id
        if not view.sees(archived):
            return NotVisible(memory_id)
        if not self._access.may_forget(archived, view, actor):
            return self._access.refusal(archived, view)
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


def _is_left(archived: StoredMemory, done: UndoRecord) -> bool:
    """True if it was this deed that forgot the entry; earlier versions noted no more than that."""
    return not done.words or done.words == left_words(archived)
