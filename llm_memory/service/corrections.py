"""What people do to entries that stand: forget, edit, move, and take it back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..catalogue.catalogue import entry_key
from ..catalogue.rules.pointers import pointed_id
from ..catalogue.rules.proposals import proposal_key
from ..catalogue.unread_turns import UnreadTurns
from ..errors import StateUnavailable
from ..migration.bringing import Bringing
from ..models.conversation import Actor, ConversationId
from ..models.corrections import CorrectionKind
from ..models.data_models import (
    EditOutcome,
    ForgetOutcome,
    Forgotten,
    Moved,
    MoveOutcome,
    Purged,
    Reason,
    Refused,
    Restored,
    RestoreOutcome,
    StoredMemory,
    absent,
    is_absent,
    is_denied,
)
from ..models.passages import Key
from ..models.scope import PUBLIC, Scope
from ..models.vault_layout import ARCHIVE
from ..remember.corrected_statements import CorrectedStatements
from ..remember.correction_follower import CorrectionFollower
from ..remember.edit import MemoryEditor, Requester, left_words
from ..remember.memory_handlers import MemoryHandlers
from ..remember.rules.gate import told_in_confidence
from ..runtime.identifiers import Clock
from ..scopes.access import ConversationView
from ..scopes.rules.scope_resolution import target_scope
from ..scopes.scope_book import ScopeBook
from ..storage.record_intents import RecordIntents
from ..vault.models import UndoKind, UndoRecord
from .recalls import Door

_SLICE = 100
"""Entries looked up before control returns to the event loop."""


@dataclass(eq=False)
class Corrections(Door):
    """Who asks, and from where, is told by the conversation."""

    _book: ScopeBook
    _handlers: MemoryHandlers
    _editor: MemoryEditor
    _corrected: CorrectedStatements
    _unread: UnreadTurns
    _follower: CorrectionFollower
    _intents: RecordIntents
    _bringing: Bringing
    _clock: Clock

    async def forget(
        self,
        memory_id: str,
        *,
        conversation_id: ConversationId,
        actor: Actor,
        for_good: bool = False,
    ) -> ForgetOutcome | Refused:
        """Move an entry to the archive: its speaker wherever it is seen, an admin where he
        may edit it.

        ``for_good``: out of the archive, too, also if it was forgotten before. No undo.
        """
        (outcome,) = await self.forget_many(
            [memory_id], conversation_id=conversation_id, actor=actor, for_good=for_good
        )
        return outcome

    async def forget_many(
        self,
        ids: Sequence[str],
        *,
        conversation_id: ConversationId,
        actor: Actor,
        for_good: bool = False,
    ) -> list[ForgetOutcome | Refused]:
        """The same of several as one deed, with one undo: an outcome for each id."""
        view = await self._view(conversation_id)
        outcomes: dict[str, ForgetOutcome | Refused] = {}
        found: dict[str, StoredMemory] = {}
        unread: dict[str, StoredMemory] = {}
        for number, memory_id in enumerate(ids):
            if number % _SLICE == 0:
                await asyncio.sleep(0)
            stored, entries = self._access.find(memory_id, view), found
            if stored is None:
                stored, entries = self._not_read(memory_id, view), unread
            if stored is None and for_good:
                stored = await self._archived(memory_id, view)
                entries = found if stored is None or stored.path == ARCHIVE else unread
            if stored is None:
                outcomes[memory_id] = await self._absent(memory_id, view)
            elif self._access.may_forget(stored, view, actor):
                entries[memory_id] = stored
            else:
                outcomes[memory_id] = self._access.refusal(stored, view)
        if found or unread:
            requester = Requester(actor, view.conversation_id.umo)
            step = partial(self._forget, found, unread, requester, for_good=for_good)
            outcomes |= await self._life.finish(step)
        return [outcomes[memory_id] for memory_id in ids]

    def _not_read(self, memory_id: str, view: ConversationView) -> StoredMemory | None:
        named, seen = pointed_id(memory_id), view.readable
        return None if named is None or seen is None else self._unread.find(named, seen)

    async def _absent(self, memory_id: str, view: ConversationView) -> Refused:
        """No such memory lives here: it may have been forgotten."""
        seen = await self._archived(memory_id, view)
        return Refused(Reason.NOT_VISIBLE if seen is None else Reason.FORGOTTEN, detail=memory_id)

    async def _archived(self, memory_id: str, view: ConversationView) -> StoredMemory | None:
        """A forgotten entry or turn that the conversation sees."""
        named = pointed_id(memory_id)
        for scope in view.changeable if named is not None else ():
            for archived in await self._gone(scope, [named or ""]):
                if view.sees(archived):
                    return archived
        return None

    async def _gone(self, scope: Scope, memory_ids: Sequence[str]) -> list[StoredMemory]:
        """Those of these that were forgotten in the scope: entries of the archive, and turns that
        are not read yet."""
        turns = [
            turn
            for memory_id in memory_ids
            if (turn := self._unread.waiting(Key(scope.name, memory_id))) is not None
            and self._corrected.was_taken_out(scope.name, memory_id)
        ]
        return [*await self._handlers.archived(scope, memory_ids), *turns]

    async def _forget(
        self,
        found: Mapping[str, StoredMemory],
        unread: Mapping[str, StoredMemory],
        requester: Requester,
        *,
        for_good: bool,
    ) -> dict[str, ForgetOutcome | Refused]:
        """The corrections are noted first: a kill between must not lose them. What is not read yet
        has no entry: noted as forgotten it is neither recalled nor learned, and for good its words
        leave the queue at night."""
        by = requester.actor.name or requester.actor.person
        living = [one for one in found.values() if one.path != ARCHIVE]
        at = self._clock().replace(microsecond=0)
        leaving = [*living, *unread.values()]
        numbers = await self._corrected.forgotten(leaving, by)
        if leaving and not for_good:
            await self._editor.note_forgotten(leaving, at, requester)
        gone, refused = await self._handlers.archive(living, requester.actor, at)
        keys = {entry_key(one) for one in gone}
        if len(keys) < len(living):
            noted = zip(numbers, living, strict=False)
            await self._corrected.drop([n for n, one in noted if entry_key(one) not in keys])
        for one in unread.values() if for_good else ():
            await self._corrected.purges.note(one.scope.name, _id(one))
        if gone or unread:
            await self._follower.follow()
        left = await self._purge(list(found.values())) if for_good and refused is None else {}
        outcomes: dict[str, ForgetOutcome | Refused] = {}
        for number, (memory_id, stored) in enumerate(found.items()):
            if number % _SLICE == 0:
                await asyncio.sleep(0)
            if for_good and refused is None:
                outcomes[memory_id] = Purged(stored.memory.memory_id, left[stored.scope])
            elif entry_key(stored) in keys:
                outcomes[memory_id] = Forgotten(stored)
            else:
                outcomes[memory_id] = refused or absent(memory_id)
        for memory_id, turn in unread.items():
            outcomes[memory_id] = Purged(_id(turn)) if for_good else Forgotten(turn)
        return outcomes

    async def _purge(self, found: Sequence[StoredMemory]) -> dict[Scope, str]:
        """Returns, by scope, what could not be deleted, and why."""
        left: dict[Scope, str] = {}
        for scope in {one.scope for one in found}:
            ids = {one.memory.memory_id for one in found if one.scope == scope}
            left[scope] = await self._handlers.purge(scope, ids)
            for memory_id in ids:
                await self._editor.drop_undo_records(memory_id, scope.name)
                try:
                    await asyncio.to_thread(self._intents.forget, proposal_key(memory_id))
                except StateUnavailable as error:
                    left[scope] = left[scope] or str(error)
        return left

    async def edit(
        self, memory_id: str, text: str, *, conversation_id: ConversationId, actor: Actor
    ) -> EditOutcome | Refused:
        """Give an entry other words. Admins only: of the conversation's own scope, and in their
        own private chat whatever they see there."""
        view = await self._view(conversation_id)
        stored = self._access.for_admin(memory_id, view, actor)
        if isinstance(stored, Refused):
            return stored if is_denied(stored) else await self._absent(memory_id, view)
        requester = Requester(actor, view.conversation_id.umo)
        own = self._book.same_person(actor.person, stored.memory.provenance.person)
        edited = await self._carry_out(lambda: self._editor.edit(stored, text, requester, own=own))
        return absent(memory_id) if edited is None else edited

    async def move(
        self, memory_id: str, scope_name: str, *, conversation_id: ConversationId, actor: Actor
    ) -> MoveOutcome | Refused:
        """Move an entry to another scope, by whom it may be edited."""
        view = await self._view(conversation_id)
        stored = self._access.for_admin(memory_id, view, actor)
        if isinstance(stored, Refused):
            return stored if is_denied(stored) else await self._absent(memory_id, view)
        known = {*self._book.summary().by_scope, *await self._editor.folders()}
        target = target_scope(scope_name, known)
        if target is None:
            return Refused(Reason.UNKNOWN_SCOPE, detail=scope_name)
        if target == stored.scope:
            return Moved(stored, target.name)
        refused = self._book.no_confidence(target)
        if refused and told_in_confidence(stored.memory):
            return refused
        requester = Requester(actor, view.conversation_id.umo)
        moved = await self._carry_out(lambda: self._editor.move(stored, target, requester))
        return absent(memory_id) if moved is None else moved

    async def _carry_out[T](self, step: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Finish a step and what follows from it, even if the caller is cancelled. Raises
        EngineClosed before the step begins."""

        async def followed() -> T:
            done = await step()
            await self._follower.follow()
            return done

        return await self._life.finish(followed)

    async def restore(
        self, memory_id: str = "", *, conversation_id: ConversationId, actor: Actor
    ) -> RestoreOutcome | Refused:
        """Take back what was done last to an entry that the conversation sees or saw: forgotten,
        it comes back; edited, it has its former words; moved, it is here again.

        Without an id: the last that this person did in this conversation and that can still be
        undone; if that was to bring what was left behind, all of it goes back. NOT_VISIBLE names
        what was changed since, if that is why nothing can. Raises StateUnavailable, EngineClosed.
        """
        view = await self._view(conversation_id)
        if not memory_id:
            return await self._undo_last(view, actor)
        named = pointed_id(memory_id)
        if named is None:
            return absent(memory_id)
        done = await self._editor.undo_record(named, view.changeable)
        if done is not None and done.kind is not UndoKind.FORGET:
            if done.kind is UndoKind.MOVE and not actor.admin:
                return absent(memory_id)  # whether it still lives there is not for everybody
            if self._editor.standing(done.target, done.memory_id) is not None:
                return await self._undo(done, view, actor)
            done = None
        archived = await self._archived(memory_id, view)
        if archived is None:
            return absent(memory_id)
        outcome = await self._bring_back([archived], view, actor)
        if isinstance(outcome, Restored) and done is not None:
            await self._editor.drop_undo_record(done)
        return outcome

    async def _undo_last(self, view: ConversationView, actor: Actor) -> RestoreOutcome | Refused:
        changed = ""
        for done in await self._editor.undo_records(Requester(actor, view.conversation_id.umo)):
            outcome = await self._undo(done, view, actor)
            if not (is_absent(outcome) or is_denied(outcome)):
                return outcome
            if is_absent(outcome):
                changed = changed or outcome.detail
        return absent(changed)

    async def undo(
        self, done: UndoRecord, *, conversation_id: ConversationId, actor: Actor
    ) -> RestoreOutcome | Refused:
        """Take back this very deed, and no other one: what was done to the entry since stays.
        NOT_VISIBLE without a name where it is not the conversation's to know why."""
        return await self._undo(done, await self._view(conversation_id), actor)

    async def _undo(
        self, done: UndoRecord, view: ConversationView, actor: Actor
    ) -> RestoreOutcome | Refused:
        if done.kind is UndoKind.BRING:
            to = next((one for one in view.changeable if one.name == done.target), PUBLIC)
            may = self._access.trusts(actor, view, to)
            return await self._bringing.take_back(done) if may else Refused(Reason.NOT_ALLOWED)
        if done.kind in (UndoKind.FORGET, UndoKind.SEVERAL):
            return await self._recover(done, view, actor)
        standing = self._editor.standing(done.target, done.memory_id)
        scope = next((one for one in view.changeable if one.name == done.source), None)
        if scope is None:
            return absent()
        if standing is None:
            return absent(done.memory_id if actor.admin else "")
        if done.kind is UndoKind.REPLACE:
            return await self._swap_back(done, standing, view, actor)
        if done.kind is UndoKind.EDIT and not view.sees(standing):
            return absent(done.memory_id)
        if not self._access.governs(scope, view, actor):
            return self._access.refusal(standing, view)
        undone = await self._carry_out(partial(self._editor.take_back, done))
        return absent(done.memory_id) if undone is None else undone

    async def _swap_back(
        self, done: UndoRecord, new: StoredMemory, view: ConversationView, actor: Actor
    ) -> RestoreOutcome | Refused:
        """Take back that an entry replaced another one."""
        former = next(iter(await self._handlers.archived(new.scope, [done.words])), None)
        if former is None:
            return absent(done.memory_id)
        if not all(self._access.may_forget(one, view, actor) for one in (new, former)):
            return self._access.refusal(new, view)

        async def step() -> Restored | Refused:
            # It stays taken back, whatever turn that is not read yet says it.
            numbers = await self._corrected.forgotten([new], actor.name or actor.person)
            back, refused = await self._restored([former])
            swapped = bool(back) and await self._handlers.supersede(new, back[0])
            if not swapped:
                await self._corrected.drop(numbers)
            if not back:
                return refused or absent(done.memory_id)
            await self._editor.drop_undo_record(done)
            again = Requester(replace(actor, person=""), done.conversation)  # by its id alone
            await self._editor.note_replaced(back[0], new, again)
            return Restored(back[0], swapped=swapped)

        return await self._carry_out(step)

    async def _recover(
        self, done: UndoRecord, view: ConversationView, actor: Actor
    ) -> RestoreOutcome | Refused:
        """Take back that entries were forgotten: as far as the archive has them as it
        left them."""
        forgotten, found, changed = done.forgotten, list[StoredMemory](), ""
        for scope in view.changeable:
            ids = forgotten.get(scope.name, [])
            archived = {_id(one): one for one in await self._gone(scope, ids)}
            for number, memory_id in enumerate(ids):
                if number % _SLICE == 0:
                    await asyncio.sleep(0)
                one = archived.get(memory_id)
                stands = self._editor.standing(scope.name, memory_id) is not None
                if stands or one is None or not _is_left(one, done):
                    changed = memory_id
                else:
                    found.append(one)
        if not found:
            return absent(changed)
        outcome = await self._bring_back(found, view, actor)
        if isinstance(outcome, Restored):
            await self._editor.drop_undo_record(done)
        return outcome

    async def _bring_back(
        self, archived: Sequence[StoredMemory], view: ConversationView, actor: Actor
    ) -> Restored | Refused:
        """Out of the archive, what this person may take back here; what comes of it for the first
        one, if that is nothing."""
        mine, first = list[StoredMemory](), archived[0]
        for number, one in enumerate(archived):
            if number % _SLICE == 0:
                await asyncio.sleep(0)
            if self._access.may_forget(one, view, actor):
                mine.append(one)
        if not mine:
            seen = view.sees(first)
            return self._access.refusal(first, view) if seen else absent(_id(first))
        back, refused = await self._carry_out(lambda: self._restored(mine))
        if back:
            turns = {_id(one) for one in mine if one.path != ARCHIVE}
            told = [one for one in back if _id(one) not in turns] or back
            return Restored(told[0], len(told) - 1)
        return refused or absent(_id(first))

    async def _restored(
        self, archived: Sequence[StoredMemory]
    ) -> tuple[list[StoredMemory], Refused | None]:
        turns = [one for one in archived if one.path != ARCHIVE]
        back, by_scope = list[StoredMemory](), dict[Scope, list[str]]()
        for one in archived:
            by_scope.setdefault(one.scope, []).append(_id(one))
        for scope, ids in by_scope.items():
            restored, refused = await self._handlers.restore(scope, ids)
            restored += [one for one in turns if one.scope == scope]
            back += restored
            kinds = (CorrectionKind.FORGOTTEN, CorrectionKind.TAKEN_BACK)
            await self._corrected.withdraw(kinds, scope.name, map(_id, restored))
            if refused is not None:
                return back, refused
        return back, None


def _id(stored: StoredMemory) -> str:
    return stored.memory.memory_id


def _is_left(archived: StoredMemory, done: UndoRecord) -> bool:
    """True if it was this deed that forgot the entry; earlier versions noted no more than that."""
    return archived.path != ARCHIVE or not done.words or done.words == left_words(archived)
